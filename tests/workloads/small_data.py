"""Small data sets in the generators' formats, made by numpy: an independent source of them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_FILES = 3


def text(folder: Path, lines: int = 3000) -> Path:
    """Words of a vocabulary by Zipf's law; blank lines and repeated spaces among them."""
    random = np.random.default_rng(1)
    words = [f"w{number}" if number % 7 else f"the{number}" for number in range(500)]
    made = []
    for number in range(lines):
        ranks = np.minimum(random.zipf(1.3, random.integers(1, 12)), len(words)) - 1
        made.append(
            "" if number % 50 == 0 else (" " * (1 + number % 2)).join(words[r] for r in ranks)
        )
    return _texts(folder, made)


def text_without_words(folder: Path, content: str) -> Path:
    folder.mkdir()
    (folder / "part-00000.txt").write_text(content)
    return folder


def reviews(folder: Path, count: int = 1200) -> Path:
    """Words that lean to one label or the other, in some capitals and with stops."""
    random = np.random.default_rng(2)
    made = []
    for number in range(count):
        label = number % 2
        ranks = np.minimum(random.geometric(0.02, 12), 300) - 1
        leaning = [f"{['bad', 'good'][label]}{random.integers(8)}" for _ in range(2)]
        noise = [f"Word{rank}" for rank in ranks]
        made.append(f"{['negative', 'positive'][label]}\t{' '.join(noise)}, {' '.join(leaning)}.")
    # Some reviews lie.
    return _texts(
        folder, [line.replace("good", "bad") if i % 9 == 0 else line for i, line in enumerate(made)]
    )


def records(folder: Path, count: int = 20_000) -> Path:
    """Records of 100 bytes; many share a first byte, some a whole key."""
    random = np.random.default_rng(3)
    made = random.integers(0, 256, (count, 100), dtype=np.uint8)
    made[::5, 0] = 255
    made[::50, :10] = 7
    folder.mkdir()
    for number, part in enumerate(np.array_split(made, _FILES)):
        (folder / f"part-{number:05}.bin").write_bytes(part.tobytes())
    return folder


def clusters(folder: Path, count: int, dimensions: int, centres: int, spread: float) -> Path:
    """Points around centres; a larger spread makes them overlap."""
    random = np.random.default_rng(4)
    places = random.normal(0, 5, (centres, dimensions))
    cluster = random.integers(0, centres, count)
    points = places[cluster] + random.normal(0, spread, (count, dimensions))
    columns = {"features": list(points), "cluster": pa.array(cluster, pa.int32())}
    return _parquet(folder, pa.table(columns))


def dense_vectors(folder: Path, count: int = 3000, dimensions: int = 8) -> Path:
    """Two classes that a plane parts but for some noise; dimensions of unlike scales."""
    random = np.random.default_rng(5)
    features = random.normal(0, 1, (count, dimensions)) * np.linspace(0.5, 2, dimensions)
    margins = features @ random.normal(0, 1, dimensions) + 0.7 + random.normal(0, 1, count)
    columns = {"label": (margins > 0).astype(float), "features": list(features)}
    return _parquet(folder, pa.table(columns))


def sparse_vectors(folder: Path, count: int = 2000, dimensions: int = 200) -> Path:
    """LibSVM lines; each of three classes prefers dimensions of its own."""
    random = np.random.default_rng(6)
    made = []
    for number in range(count):
        label = number % 3
        chosen = np.unique((random.geometric(0.03, 10) - 1 + 60 * label) % dimensions)
        entries = (f"{index + 1}:{random.integers(1, 9)}" for index in chosen)
        made.append(f"{label} {' '.join(entries)}")
    return _texts(folder, made)


def graph(folder: Path, vertices: int = 400, edges: int = 3000) -> Path:
    """Few vertices with many edges; loops, repeated edges, dead ends, an island and odd ids."""
    random = np.random.default_rng(7)
    ends = np.minimum(random.zipf(1.4, (edges, 2)), vertices)
    spread = (ends * [1, 7] + random.integers(0, 40, (edges, 2))) % vertices
    island = [[1000, 1001], [1001, 1002], [1002, 1000], [1000, 1000], [2000, 1000]]
    pairs = np.concatenate([spread * 3, spread[:30] * 3, island])
    return _texts(folder, [f"{source}\t{target}" for source, target in pairs])


def _texts(folder: Path, lines: list[str]) -> Path:
    folder.mkdir()
    for number in range(_FILES):
        part = lines[number::_FILES]
        (folder / f"part-{number:05}.txt").write_text("\n".join(part) + "\n", encoding="utf-8")
    return folder


def _parquet(folder: Path, table: pa.Table) -> Path:
    folder.mkdir()
    each = -(-len(table) // _FILES)
    for number in range(_FILES):
        file = folder / f"part-{number:05}.parquet"
        pq.write_table(table.slice(number * each, each), file)
    return folder
