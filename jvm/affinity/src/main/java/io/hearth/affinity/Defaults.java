package io.hearth.affinity;

import java.util.List;
import java.util.Optional;

/**
 * What holds where the user sets nothing, for a processor architecture.
 *
 * @param architecture POWER, x86 or Arm
 * @param policy as it is written
 * @param threads the N of a policy that is given without one
 * @param basis where the values come from
 */
public record Defaults(String architecture, String policy, int threads, String basis) {
    private static final int THREADS = 8;
    private static final String NODE = "hearth's: a socket's other nodes are farther from the device; N is POWER's; ";

    public static final List<Defaults> ALL = List.of(
            new Defaults("POWER", "o2acs", THREADS,
                    "Lu, Shi, Shankar, Panda (2017): the default; a JVM was steadiest on one core, eight threads"),
            new Defaults("x86", "near-all", THREADS, NODE + "what it costs is measured, what it gains is not"),
            new Defaults("Arm", "near-all", THREADS, NODE + "nothing is measured"));

    /** @param machine as {@code uname -m} or Java's {@code os.arch} says; x86's where it is unknown */
    public static Defaults of(Optional<String> machine) {
        String name = machine.orElse("");
        int at = name.startsWith("ppc") ? 0 : name.startsWith("aarch") || name.startsWith("arm") ? 2 : 1;
        return ALL.get(at);
    }
}
