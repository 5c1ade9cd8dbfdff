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
    private static final int MOST = 65536;

    public enum Kind {
        O2NTS("near-threads", true, true, "N hardware threads of the device's node, round robin"),
        O2ACS("near-all", true, false, "all CPUs of the device's node"),
        O2OCS("near-core", true, false, "one whole core of the device's node, round robin"),
        O2NTC("any-threads", false, true, "N hardware threads anywhere, round robin"),
        O2OCC("any-core", false, false, "one whole core anywhere, round robin");

        /** The plain name. */
        public final String plain;
        final boolean near;
        final boolean counted;
        public final String meaning;

        Kind(String plain, boolean near, boolean counted, String meaning) {
            this.plain = plain;
            this.near = near;
            this.counted = counted;
            this.meaning = meaning;
        }

        /** As it is written: {@code o2nts:N}. */
        public String written() {
            return name().toLowerCase(Locale.ROOT) + (counted ? ":N" : "");
        }
    }

    /**
     * @param text a name, with {@code :N} where the policy takes a number: {@code o2nts:4}
     * @param usual the number where none is given
     */
    public static Policy parse(String text, int usual) {
        String[] parts = text.trim().split(":", 2);
        Kind kind = Arrays.stream(Kind.values())
                .filter(k -> k.name().equalsIgnoreCase(parts[0]) || k.plain.equalsIgnoreCase(parts[0]))
                .findFirst()
                .orElseThrow(() -> new Refused("policy '" + text + "' is unknown: use " + known()));
        if (parts.length == 1) return new Policy(kind, kind.counted ? usual : 0);
        if (!kind.counted)
            throw new Refused("policy '" + text + "' takes no number: write " + kind.written());
        if (!parts[1].matches("[0-9]{1,6}") || Integer.parseInt(parts[1]) < 1 || Integer.parseInt(parts[1]) > MOST)
            throw new Refused("policy '" + text + "': '" + parts[1] + "' is not a number of hardware threads from 1 to "
                    + MOST + ": write " + kind.written().replace("N", "4"));
        return new Policy(kind, Integer.parseInt(parts[1]));
    }

    private static String known() {
        return Arrays.stream(Kind.values())
                .map(k -> k.written() + " (" + k.plain + ")")
                .collect(Collectors.joining(", "));
    }

    @Override
    public String toString() {
        return kind.written().replace("N", "" + threads);
    }
}
