package io.hearth.affinity;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which threads are communication threads, by the beginnings of their names.
 *
 * <p>The kernel keeps 15 characters of a Java thread's name ({@code /proc/PID/task/TID/comm}).
 */
public final class ThreadNames {
    private static final int KEPT = 15;

    /** Beginnings of names by software, as Spark 4 and Hadoop 3.5 name their threads. */
    static final Map<String, List<String>> KNOWN = known();

    private final Map<String, String> beginnings;

    private ThreadNames(Map<String, String> beginnings) {
        this.beginnings = beginnings;
    }

    private static Map<String, List<String>> known() {
        Map<String, List<String>> known = new LinkedHashMap<>();
        known.put("spark", List.of("rpc-server-", "rpc-client-", "rpc-boss-", "shuffle-server-", "shuffle-client-",
                "shuffle-boss-", "files-client-"));
        known.put("hadoop", List.of("Socket Reader #", "IPC Server handler ", "IPC Server Responder",
                "IPC Server listener on ", "IPC Client (", "IPC Parameter Sending Thread"));
        known.put("hdfs", List.of("DataXceiver for ", "PacketResponder: ", "DataStreamer for ",
                "ResponseProcessor for "));
        known.put("hearth", List.of("hearth-wire-"));
        return known;
    }

    public static ThreadNames all() {
        return of(new ArrayList<>(KNOWN.keySet()));
    }

    /** @param words each the name of software ({@code spark}, {@code hadoop}, {@code hdfs}) or a beginning */
    public static ThreadNames of(List<String> words) {
        Map<String, String> beginnings = new LinkedHashMap<>();
        for (String word : words) {
            if (word.isBlank()) throw new Refused("threads: an empty beginning would match every thread: leave it out");
            for (String beginning : KNOWN.getOrDefault(word, List.of(word)))
                beginnings.put(beginning, KNOWN.containsKey(word) ? word : "named");
        }
        return new ThreadNames(beginnings);
    }

    /**
     * @param comm what the kernel keeps of a name
     * @return whose thread it is; absent where it is no communication thread
     */
    public Optional<String> software(String comm) {
        return beginnings.entrySet().stream()
                .filter(entry -> comm.startsWith(cut(entry.getKey())))
                .map(Map.Entry::getValue)
                .findFirst();
    }

    private static String cut(String name) {
        return name.length() > KEPT ? name.substring(0, KEPT) : name;
    }
}
