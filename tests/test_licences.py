"""What is published holds the licence of everything inside it."""

import zipfile
from pathlib import Path

import pytest

from support import ROOT

JARS = sorted((ROOT / "src" / "hearth" / "jars").glob("*.jar"))
LICENCE = (ROOT / "LICENSE").read_text()
#: A package of others, and where the licence stands in a jar that holds it.
OTHERS = {"com/sun/jna/": "META-INF/licenses/jna/"}


def test_there_are_four_jars() -> None:
    assert len(JARS) == 4


@pytest.mark.parametrize("jar", JARS, ids=lambda jar: jar.name)
def test_a_jar_holds_hearths_licence_and_those_of_others_inside_it(jar: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        names = archive.namelist()
        assert archive.read("META-INF/LICENSE").decode() == LICENCE
        assert archive.read("META-INF/NOTICE").decode().startswith("hearth\n")
        foreign = {name.split("/")[0] for name in names if name.endswith(".class")}
        assert foreign <= {"io", "org", "com"}, "what else is inside needs its licence too"
        for package, place in OTHERS.items():
            if any(package in name for name in names if name.endswith(".class")):
                assert {f"{place}{name}" for name in ("LICENSE", "AL2.0", "LGPL2.1")} <= set(names)


def test_every_class_of_others_is_known() -> None:
    for jar in JARS:
        with zipfile.ZipFile(jar) as archive:
            classes = [name for name in archive.namelist() if name.endswith(".class")]
        own = ("io/hearth/", "org/apache/spark/", "org/apache/hadoop/")
        assert [c for c in classes if not c.startswith((*own, *OTHERS))] == []


def test_the_charting_library_has_its_licences_beside_it() -> None:
    library = ROOT / "src" / "hearth" / "report" / "html" / "lib"
    assert {"LICENSE", "NOTICE", "LICENSE-d3"} <= {file.name for file in library.iterdir()}
