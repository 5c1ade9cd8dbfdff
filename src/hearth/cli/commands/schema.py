"""Print the JSON Schema of a document that hearth writes or reads, or list the documents.

examples:
  hearth schema
  hearth schema plan
"""

import argparse
from typing import Any

from hearth.analysis.document import Analysis
from hearth.analysis.hand_over import LoanFile
from hearth.base.json_schema import schema_of, title, written
from hearth.cli.answer import Message
from hearth.doctor.examine import Examined
from hearth.machine.leases import Leases
from hearth.machine.placement import Placement
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology
from hearth.record.schema import RecordHead
from hearth.report.terminal.sources import Sources
from hearth.spark.workers import WorkerSet, WorkersRequest
from hearth.studies.bench.result import BenchResult
from hearth.studies.characterise.result import Characterised
from hearth.studies.colocate.result import Colocated
from hearth.studies.compare.result import Compared
from hearth.studies.models.prediction import PredictedPartitionings
from hearth.studies.published.result import Repeated
from hearth.studies.tune.result import Tuned

#: The classes that write each document.
DOCUMENTS: dict[str, Any] = {
    "analysis": Analysis,
    "bench-result": BenchResult,
    "characterisation": Characterised,
    "colocation": Colocated,
    "comparison": Compared,
    "doctor": Examined,
    "hand-over": LoanFile,
    "leases": Leases,
    "message": Message,
    "placement": Placement,
    "plan": Plan,
    "prediction": PredictedPartitionings,
    "record": RecordHead,
    "report": Sources,
    "study": Repeated,
    "topology": Topology,
    "tune": Tuned,
    "workers": WorkerSet,
    "workers-request": WorkersRequest,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "name", metavar="NAME", nargs="?", choices=[*DOCUMENTS], help="a document; none: list them"
    )


def run(options: argparse.Namespace) -> int:
    """Print one schema, or a line for each document."""
    if options.name is not None:
        print(written(schema_of(options.name, DOCUMENTS[options.name])), end="")
    else:
        for name, kind in DOCUMENTS.items():
            print(f"{name:<17} {title(kind)}")
    return 0
