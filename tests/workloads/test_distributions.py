"""What the generators draw, held against the distributions that their documentation names.

All data are made by one spark-submit and counted by numpy. Bounds are several standard
errors of a right generator wide, and exclude what a wrong law or a wrong parameter gives.
"""

import json
import math
from collections import Counter
from datetime import date
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow.parquet as parquet
import pytest
from test_data import GENERATORS, group, joined, made

pytestmark = pytest.mark.spark

SIZES = {"reviews": "4m", "clusters": "2m", "vectors-dense": "2m"}
SEED = 3


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every generator's data set; DIR/NAME."""
    folder = tmp_path_factory.mktemp("distributions")
    made(*joined(*(group(n, folder / n, SEED, SIZES.get(n, "1m")) for n in GENERATORS)))
    return folder


def lines(folder: Path) -> list[str]:
    return "".join(file.read_text() for file in sorted(folder.glob("part-*"))).splitlines()


def columns(folder: Path) -> dict[str, np.ndarray]:
    table = parquet.read_table(folder)
    return {name: table.column(name).to_numpy() for name in table.column_names}


def rows_of_parts(folder: Path) -> list[list[object]]:
    """Rows in order, part after part, without what a row's own number decides."""
    files = sorted(folder.glob("part-*"))
    if folder.name in ("clicks", "tags"):
        return [[row.split("\t", 1)[1] for row in f.read_text().splitlines()] for f in files]
    if folder.name == "records":
        return [[r[:10].tobytes() for r in np.fromfile(f, "u1").reshape(-1, 100)] for f in files]
    if files[0].suffix == ".txt":
        return [f.read_text().splitlines() for f in files]
    numbers = {"order_id", "item_id"}
    tables = [parquet.read_table(f) for f in files]
    drawn = [t.select([c for c in t.column_names if c not in numbers]) for t in tables]
    return [list(zip(*(map(str, c.to_pylist()) for c in t.columns), strict=True)) for t in drawn]


@pytest.mark.parametrize(
    "name", [*(name for name in GENERATORS if name != "shop"), "shop/orders", "shop/items"]
)
def test_no_stretch_of_rows_comes_again(data: Path, name: str) -> None:
    """A part, or a row, that takes the random numbers of another repeats its rows."""
    rows = [row for part in rows_of_parts(data / name) for row in part]
    stretches = list(zip(rows, rows[1:], rows[2:], strict=False))
    assert len(set(stretches)) > 0.999 * len(stretches) > 100


def assert_zipf(drawn: list[int], count: int, exponent: float) -> None:
    """The shares of the ten commonest, and of all beyond the hundredth, are those of the law."""
    law = np.arange(1, count + 1) ** -exponent
    law /= law.sum()
    found = np.bincount(drawn, minlength=count) / len(drawn)
    error = np.sqrt(law / len(drawn))
    assert len(found) == count
    assert (abs(found - law)[:10] < 5 * error[:10]).all()
    assert found[100:].sum() == pytest.approx(law[100:].sum(), rel=0.05)


def assert_even(drawn: list[object], choices: int) -> None:
    """Every choice occurs, each about as often as the others."""
    counts = Counter(drawn)
    each = len(drawn) / choices
    assert len(counts) == choices
    assert all(abs(count - each) < 5 * math.sqrt(each) for count in counts.values())


def assert_root(drawn: np.ndarray, most: int) -> None:
    """1 to `most` with a density of 1 / (2 sqrt(x)): half of all lie in the first quarter."""
    assert drawn.min() >= 1
    assert drawn.max() <= most
    for part in (0.0625, 0.25, 0.5625):
        assert np.mean(drawn <= part * most) == pytest.approx(math.sqrt(part), abs=0.02)


def test_reviews_are_as_long_as_film_reviews(data: Path) -> None:
    words = [len(line.split("\t")[1].split(" ")) for line in lines(data / "reviews")]
    assert median(words) == pytest.approx(170, rel=0.06)
    assert np.std(np.log(words)) == pytest.approx(0.6, rel=0.08)


def test_clusters_are_balls_of_unlike_widths_around_spread_centres(data: Path) -> None:
    found = columns(data / "clusters")
    points, cluster = np.stack(found["features"]), found["cluster"]
    assert_even(cluster.tolist(), 8)
    centres = np.array([points[cluster == c].mean(axis=0) for c in range(8)])
    widths = np.array([points[cluster == c].std(axis=0) for c in range(8)])
    assert np.std(centres) == pytest.approx(20 / math.sqrt(12), rel=0.12)
    assert centres.min() < -8 < 8 < centres.max()
    assert (abs(widths / widths.mean(axis=1, keepdims=True) - 1) < 0.1).all()
    widths = widths.mean(axis=1)
    assert 0.49 < widths.min() < 0.9 < 1.1 < widths.max() < 1.51
    away = (points - centres[cluster]) / widths[cluster][:, None]
    assert np.mean(abs(away) < 1) == pytest.approx(0.683, abs=0.01), "normal, not even"


def test_labels_of_dense_vectors_are_a_planes_sides_but_for_one_in_twenty(data: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    found = columns(data / "vectors-dense")
    features, label = np.stack(found["features"]), found["label"]
    assert (abs(features.mean(axis=0)) < 0.07).all()
    assert (abs(features.std(axis=0) - 1) < 0.05).all()
    right = LogisticRegression(C=1e6).fit(features, label).score(features, label)
    assert 0.93 < right < 0.965


def test_sparse_vectors_lean_to_the_indices_of_their_label(data: Path) -> None:
    rows = [line.split(" ") for line in lines(data / "vectors-sparse")]
    assert_even([row[0] for row in rows], 2)
    entries = [(int(row[0]), *map(int, word.split(":"))) for row in rows for word in row[1:]]
    label, index, value = np.array(entries).T
    assert np.mean((index - 1) % 2 == label) == pytest.approx(0.25 + 0.75 / 2, abs=0.01)
    assert np.mean(index <= 250) == pytest.approx(0.25 / 4 + 0.75 / 2, abs=0.02)
    for least in (1, 2, 3, 4):
        assert np.mean(value >= least) == pytest.approx(0.5 ** (least - 1), abs=0.01)


def test_keys_of_records_are_uniform_and_values_of_the_sort_benchmarks_form(data: Path) -> None:
    files = sorted((data / "records").glob("part-*"))
    records = np.concatenate([np.fromfile(file, np.uint8).reshape(-1, 100) for file in files])
    for place in range(10):
        assert_even(records[:, place].tolist(), 256)
    numbers = [int(record[10:42].tobytes(), 16) for record in records]
    assert numbers == list(range(len(records)))
    letters = records[:, 42:]
    assert (letters == letters[:, :1]).all()
    assert_even([chr(letter) for letter in letters[:, 0]], 26)


def test_pairs_have_uniform_keys_and_values_of_64_letters(data: Path) -> None:
    found = columns(data / "pairs")
    keys, values = found["key"], found["value"].tolist()
    assert keys.min() >= 0
    assert keys.max() < 10_000
    assert_even((keys // 100).tolist(), 100)
    assert len(set(keys.tolist())) == pytest.approx(
        10_000 * (1 - math.exp(-len(keys) / 10_000)), rel=0.03
    )
    assert {len(value) for value in values} == {100}
    assert_even(list("".join(values)), 64)


def rmat(count: int, vertices: int) -> np.ndarray:
    """Edges of the same law by numpy: (source, destination) a row, numbers not shuffled."""
    draw, made = np.random.default_rng(1), np.empty((0, 2), dtype=np.int64)
    levels = 1 << np.arange((vertices - 1).bit_length())
    while len(made) < count:
        quadrants = draw.choice(4, (count, len(levels)), p=(0.57, 0.19, 0.19, 0.05))
        edges = np.stack([(quadrants >> 1) @ levels, (quadrants & 1) @ levels], axis=1)
        made = np.concatenate([made, edges[(edges < vertices).all(axis=1)]])
    return made[:count]


def test_degrees_of_a_graph_are_as_unlike_as_those_of_another_r_mat(data: Path) -> None:
    edges = np.array([line.split("\t") for line in lines(data / "graph")], dtype=np.int64)
    vertices = json.loads((data / "graph" / "_manifest.json").read_text())["facts"]["vertices"]
    other = rmat(len(edges), vertices)
    for end in (0, 1):
        mine, theirs = (
            np.sort(np.bincount(e[:, end], minlength=vertices))[::-1].cumsum() / len(edges)
            for e in (edges, other)
        )
        for part in (0.001, 0.01, 0.1, 0.5):
            place = int(part * vertices)
            assert mine[place] == pytest.approx(theirs[place], abs=0.01)


def test_users_pages_and_zip_codes_of_clicks_follow_their_laws(data: Path) -> None:
    rows = [line.split("\t") for line in lines(data / "clicks")]
    assert [int(row[0]) for row in rows] == list(range(len(rows)))
    assert_zipf([int(row[1]) for row in rows], 10_000, 0.8)
    assert_zipf([int(row[2].removeprefix("/page/")) for row in rows], 1000, 1.0)
    assert_zipf([int(row[4]) - 10_000 for row in rows], 1000, 0.8)
    errors = Counter(row[3] for row in rows if row[3] != "200")
    assert errors.keys() == {"404", "500"}
    assert errors["500"] / errors.total() == pytest.approx(0.25, abs=0.04)


def test_tags_and_users_of_messages_follow_their_laws(data: Path) -> None:
    rows = [line.split("\t") for line in lines(data / "tags")]
    assert [int(row[0]) for row in rows] == list(range(len(rows)))
    assert_zipf([int(row[1]) for row in rows], 10_000, 0.8)
    words = [row[2].split(" ") for row in rows]
    tags = [[word for word in message if word.startswith("#tag")] for message in words]
    assert_zipf([int(tag.removeprefix("#tag")) for message in tags for tag in message], 1000, 1.0)
    assert_even([len(message) for message in tags], 3)
    assert_even([len(w) - len(t) for w, t in zip(words, tags, strict=True)], 10)
    assert {len(t) for t in tags} == {1, 2, 3}
    assert {len(w) - len(t) for w, t in zip(words, tags, strict=True)} == set(range(3, 13))


def test_orders_and_items_of_a_shop_follow_their_laws(data: Path) -> None:
    orders, items = columns(data / "shop" / "orders"), columns(data / "shop" / "items")
    count = len(orders["order_id"])
    assert_root(orders["buyer_id"], count // 4)
    days = orders["order_date"].astype("datetime64[D]").astype(date)
    assert {day.year for day in days} == {2020, 2021, 2022, 2023}
    assert_even([(day.year, day.month > 6) for day in days], 8)
    assert_even(orders["status"].tolist(), 5)
    sizes = np.bincount(items["order_id"])[1:]
    assert_even(sizes.tolist(), 7)
    assert_root(items["goods_id"], count * 4 // 100)
    assert_even(items["quantity"].tolist(), 20)
    prices = dict(zip(items["goods_id"].tolist(), items["price"].tolist(), strict=True))
    pairs = zip(items["goods_id"].tolist(), items["price"].tolist(), strict=True)
    assert all(prices[good] == price for good, price in pairs), "a good has one price"
    assert 0.99 <= min(prices.values()) < 30 < 970 < max(prices.values()) <= 1000
