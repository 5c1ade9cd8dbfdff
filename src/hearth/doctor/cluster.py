"""Tell whether applications of this user run on other machines too."""

from hearth.doctor.check import Machine

_MASTERS = ("spark://", "yarn", "k8s://")
_VARIABLES = ("YARN_CONF_DIR", "HADOOP_CONF_DIR")


def is_in_a_cluster(machine: Machine) -> bool:
    """Return whether it is of a fleet, or Spark's settings or variables lead to one.

    Raise NotSeen.
    """
    if machine.of_fleet:
        return True
    environment = machine.the_own().environment
    return leads_to_a_cluster(machine) or any(environment.get(name) for name in _VARIABLES)


def leads_to_a_cluster(machine: Machine) -> bool:
    """Return whether the master that is set is a cluster's; raise NotSeen."""
    return machine.the_own().settings.get("spark.master", "").startswith(_MASTERS)
