"""Ask the JVM side (topology, plan, placement): the only place that starts its `Main`."""
