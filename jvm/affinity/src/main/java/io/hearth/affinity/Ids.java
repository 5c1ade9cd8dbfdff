package io.hearth.affinity;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/** Sets of the kernel's ids (CPUs, nodes), in its list format: {@code 0-3,8}. */
public final class Ids {

    /** The largest id accepted, far above the kernel's limit of 8192 CPUs. */
    private static final int MAX = 65535;

    private Ids() {}

    /** @return absent where the text is not in the list format; blank text is the empty set */
    public static Optional<BitSet> parse(String text) {
        BitSet ids = new BitSet();
        for (String part : text.trim().split(",")) {
            if (part.isBlank()) continue;
            String[] ends = part.trim().split("-", 2);
            if (!number(ends[0]) || !number(ends[ends.length - 1])) return Optional.empty();
            int first = Integer.parseInt(ends[0]);
            int last = Integer.parseInt(ends[ends.length - 1]);
            if (last < first || last > MAX) return Optional.empty();
            ids.set(first, last + 1);
        }
        return Optional.of(ids);
    }

    private static boolean number(String text) {
        return text.length() <= 6 && !text.isEmpty() && text.chars().allMatch(c -> c >= '0' && c <= '9');
    }

    public static String show(BitSet ids) {
        List<String> runs = new ArrayList<>();
        for (int from = ids.nextSetBit(0); from >= 0; ) {
            int to = ids.nextClearBit(from) - 1;
            runs.add(from == to ? "" + from : from + "-" + to);
            from = ids.nextSetBit(to + 1);
        }
        return String.join(",", runs);
    }

    public static BitSet and(BitSet a, BitSet b) {
        BitSet both = (BitSet) a.clone();
        both.and(b);
        return both;
    }

    public static BitSet or(BitSet a, BitSet b) {
        BitSet all = (BitSet) a.clone();
        all.or(b);
        return all;
    }

    static BitSet minus(BitSet a, BitSet b) {
        BitSet left = (BitSet) a.clone();
        left.andNot(b);
        return left;
    }
}
