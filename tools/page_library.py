"""Fetches the charting library of the report's page, Apache ECharts, from npm's registry.

usage: python tools/page_library.py DIRECTORY

The package's digest is the one that the registry states for this version. Another registry is
named by `NPM_CONFIG_REGISTRY`, as npm does.
"""

import hashlib
import io
import os
import sys
import tarfile
import urllib.request
from pathlib import Path

VERSION = "6.1.0"
SHA512 = (
    "ab4c9a14f8200bd15476c587e1b95abd15859b176b22875b92828d02326e7402"
    "3a080f6034fc47b55d917193447a9655964e32bc16243a46e4e87215a48c8764"
)
FILES = ("dist/echarts.min.js", "LICENSE", "NOTICE", "licenses/LICENSE-d3")


def main(directory: Path) -> None:
    registry = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")
    address = f"{registry}/echarts/-/echarts-{VERSION}.tgz"
    try:
        with urllib.request.urlopen(address, timeout=120) as answer:
            package = answer.read()
    except OSError as error:
        sys.exit(f"{address} cannot be read ({error}): it is needed for pages of the report")
    digest = hashlib.sha512(package).hexdigest()
    if digest != SHA512:
        sys.exit(f"{address} is not the expected package: its SHA-512 is {digest}, not {SHA512}")
    directory.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        for name in FILES:
            content = archive.extractfile(f"package/{name}")
            if content is None:
                sys.exit(f"{address} holds no file {name}")
            part = directory / f".{Path(name).name}.part"
            part.write_bytes(content.read())
            part.replace(directory / Path(name).name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
