"""Spark 4 needs Java 17; a release without long-term support gets no corrections after half a
year.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.java import release_of

_OLDEST = 17
#: OpenJDK's own plan; later ones may be current when you read this.
_ENDED = (18, 19, 20, 22, 23, 24)


def _look(machine: Machine) -> Outcome:
    release = release_of(machine)
    what = f"Java {release.version} of {release.vendor} in {release.home}"
    if release.major < _OLDEST:
        return Problem(
            what,
            f"{release.home}/release",
            "harm",
            command="apt-get install openjdk-17-jre-headless",
        )
    if release.is_early_access:
        return Problem(
            f"{what}: an early-access build",
            f"{release.home}/release",
            command="apt-get install openjdk-21-jre-headless",
        )
    if release.major in _ENDED:
        return Problem(
            what, f"{release.home}/release", command="apt-get install openjdk-21-jre-headless"
        )
    return Fine(what)


CHECK = Check(
    _look,
    group="spark",
    better="Java 17 or 21",
    source="Spark: overview, downloading; OpenJDK: JDK project, releases; Elasticsearch: bootstrap "
    "checks, early access",
    touches="other programs that use the same JAVA_HOME",
)
