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
    planned = {
        e["executor_id"]: e["planned_cpus"] for e in site.document("placement.json")["executors"]
    }
    loans = site.document("hand-over.json")["loans"]
    # Where other programs keep this machine busy, the other executor may be the slower one.
    assert loans and all(loan["cpus"] != planned[loan["executor_id"]] for loan in loans)
    assert outcome.report["waiting"] == ["1", "1"], "both results from the quick executor"
