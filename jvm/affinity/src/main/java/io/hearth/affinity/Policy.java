package io.hearth.affinity;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Where communication threads may run (Lu, Shi, Shankar and Panda, Performance Characterization and
 * Acceleration of Big Data Workloads on OpenPOWER System, 2017).
 *
 * @param threads hardware threads for each communication thread; 0 where the kind does not take a number
 */
public record Policy(Kind kind, int threads) {

    /** The largest number of hardware threads accepted. */
    private static final int MAX = 65536;

    /** What of the machine is near the device: the study speaks of its socket, which may have several nodes. */
    enum Near { NODE, SOCKET, ANYWHERE }

    public enum Kind {
        O2NTS("socket-threads", Near.SOCKET, true, "N hardware threads of the device's socket, round robin"),
        O2ACS("socket-all", Near.SOCKET, false, "all CPUs of the device's socket"),
        O2OCS("socket-core", Near.SOCKET, false, "one whole core of the device's socket, round robin"),
        NEAR_THREADS("near-threads", Near.NODE, true, "N hardware threads of the device's node, round robin"),
        NEAR_ALL("near-all", Near.NODE, false, "all CPUs of the device's node"),
        NEAR_CORE("near-core", Near.NODE, false, "one whole core of the device's node, round robin"),
        O2NTC("any-threads", Near.ANYWHERE, true, "N hardware threads anywhere, round robin"),
        O2OCC("any-core", Near.ANYWHERE, false, "one whole core anywhere, round robin");

        /** The plain name. */
        public final String plain;
        final Near near;
        final boolean counted;
        public final String meaning;

        Kind(String plain, Near near, boolean counted, String meaning) {
            this.plain = plain;
            this.near = near;
            this.counted = counted;
            this.meaning = meaning;
        }

        /** The study's name; the plain one of a policy that the study does not have. */
        private String studied() {
            return near == Near.NODE ? plain : name().toLowerCase(Locale.ROOT);
        }

        /** As it is written: {@code o2nts:N}. */
        public String written() {
            return studied() + (counted ? ":N" : "");
        }
    }

    /**
     * @param text a name, with {@code :N} where the policy takes a number: {@code o2nts:4}
     * @param defaultThreads the number where none is given
     */
    public static Policy parse(String text, int defaultThreads) {
        String[] parts = text.trim().split(":", 2);
        Kind kind = Arrays.stream(Kind.values())
                .filter(k -> k.studied().equalsIgnoreCase(parts[0]) || k.plain.equalsIgnoreCase(parts[0]))
                .findFirst()
                .orElseThrow(() -> new Refused("policy '" + text + "' is unknown: use " + known()));
        if (parts.length == 1) return new Policy(kind, kind.counted ? defaultThreads : 0);
        if (!kind.counted)
            throw new Refused("policy '" + text + "' takes no number: write " + kind.written());
        if (!parts[1].matches("[0-9]{1,6}") || Integer.parseInt(parts[1]) < 1 || Integer.parseInt(parts[1]) > MAX)
            throw new Refused("policy '" + text + "': '" + parts[1] + "' is not a number of hardware threads from 1 to "
                    + MAX + ": write " + kind.written().replace("N", "4"));
        return new Policy(kind, Integer.parseInt(parts[1]));
    }

    private static String known() {
        return Arrays.stream(Kind.values())
                .map(k -> k.near == Near.NODE ? k.written() : k.written() + " (" + k.plain + ")")
                .collect(Collectors.joining(", "));
    }

    @Override
    public String toString() {
        return kind.written().replace("N", "" + threads);
    }
}
