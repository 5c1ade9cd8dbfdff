"""Whether applications of this user run on other machines too."""

from hearth.doctor.check import Machine

_MASTERS = ("spark://", "yarn", "k8s://")
_VARIABLES = ("YARN_CONF_DIR", "HADOOP_CONF_DIR")


def is_in_a_cluster(machine: Machine) -> bool:
    """Return whether it is of a fleet, or Spark's settings or variables lead to one.

    Raise NotSeen.
    """
    if machine.of_fleet:
        return True
    own = machine.the_own()
    master = own.settings.get("spark.master", "")
    return master.startswith(_MASTERS) or any(own.environment.get(name) for name in _VARIABLES)
