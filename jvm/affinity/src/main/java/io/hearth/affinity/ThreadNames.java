package io.hearth.affinity;

import java.util.List;
import java.util.Map;

/**
 * Which threads are communication threads, by the beginnings of their names.
 *
 * <p>The kernel keeps 15 characters of a Java thread's name ({@code /proc/PID/task/TID/comm}).
 */
public final class ThreadNames {
    private static final int KEPT = 15;

    /** Beginnings of names by software, as Spark 4 and Hadoop 3.5 name their threads. */
    private static final Map<String, List<String>> KNOWN = Map.of(
            "spark", List.of("rpc-server-", "rpc-client-", "rpc-boss-", "shuffle-server-", "shuffle-client-",
                    "shuffle-boss-", "files-client-"),
            "hadoop", List.of("Socket Reader #", "IPC Server handler ", "IPC Server Responder",
                    "IPC Server listener on ", "IPC Client (", "IPC Parameter Sending Thread"),
            "hdfs", List.of("DataXceiver for ", "PacketResponder: ", "DataStreamer for ", "ResponseProcessor for "),
            "hearth", List.of("hearth-wire-"));

    private final List<String> beginnings;

    private ThreadNames(List<String> beginnings) {
        this.beginnings = beginnings;
    }

    static ThreadNames all() {
        return of(List.copyOf(KNOWN.keySet()));
    }

    /** @param words each the name of software ({@code spark}, {@code hadoop}, {@code hdfs}) or a beginning */
    static ThreadNames of(List<String> words) {
        if (words.stream().anyMatch(String::isBlank))
            throw new Refused("threads: an empty beginning would match every thread: leave it out");
        return new ThreadNames(words.stream()
                .flatMap(word -> KNOWN.getOrDefault(word, List.of(word)).stream())
                .map(ThreadNames::cut)
                .toList());
    }

    /** @param comm what the kernel keeps of a name */
    boolean include(String comm) {
        return beginnings.stream().anyMatch(comm::startsWith);
    }

    private static String cut(String name) {
        return name.length() > KEPT ? name.substring(0, KEPT) : name;
    }
}
