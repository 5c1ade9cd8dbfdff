"""Settings that need another one do nothing, or end every application, without it."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    settings = machine.the_own().settings

    def on(key: str) -> bool:
        return settings.get(key, "false").lower() == "true"

    if on("spark.memory.offHeap.enabled") and settings.get("spark.memory.offHeap.size", "0") in (
        "0",
        "0b",
    ):
        return Problem(
            "spark.memory.offHeap.enabled without a size: Spark refuses to start",
            "spark-defaults.conf",
            "harm",
            command="spark.memory.offHeap.size with a size there, or remove "
            "spark.memory.offHeap.enabled",
        )
    tracked = (
        settings.get("spark.dynamicAllocation.shuffleTracking.enabled", "true").lower() == "true"
    )
    kept = on("spark.shuffle.service.enabled") or on("spark.decommission.enabled")
    kept = kept or "spark.shuffle.sort.io.plugin.class" in settings  # which may keep it elsewhere
    if on("spark.dynamicAllocation.enabled") and not (kept or tracked):
        return Problem(
            "dynamic allocation without shuffle service or tracking: Spark refuses to start",
            "spark-defaults.conf",
            "harm",
            command="remove spark.dynamicAllocation.shuffleTracking.enabled there",
        )
    return Fine("settings of spark-defaults.conf fit together")


CHECK = Check(
    _look,
    group="spark",
    better="both settings, or neither",
    source="Spark: configuration, memory management and dynamic allocation",
    touches="nothing",
)
