"""An executor that is slow, and what helps its last task: CPUs on loan, or another executor."""

import pytest
from application import Site

pytestmark = pytest.mark.spark


def test_an_executor_short_of_cpus_is_lent_some_a_task_that_waits_is_run_elsewhere(
    site: Site,
) -> None:
    outcome = site.run(
        "straggler.py",
        spark__hearth__handOver="tail",
        spark__speculation="true",
        spark__speculation__quantile="1",  # never, until the application sets another
        spark__locality__wait="0s",
    )
    assert outcome.code == 0, outcome.log[-3000:]
    assert sorted(outcome.report["busy"]) == ["0", "1"], "each result from its own executor"
    slow = site.document("placement.json")["executors"]
    (borrower,) = (e["executor_id"] for e in slow if e["planned_cpus"] == "0")
    # The other may have had a moment's loan before.
    loans = site.document("hand-over.json")["loans"]
    assert (borrower, "1") in [(loan["executor_id"], loan["cpus"]) for loan in loans]
    assert outcome.report["waiting"] == ["1", "1"], "both results from the quick executor"
