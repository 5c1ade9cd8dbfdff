package io.hearth.transport;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * UCX's workers of this process that are used no more; the latest four are kept. Their shared memory has no name: peers
 * open it as {@code /proc/PID/fd/N}, some of it not before the first message that needs it, and write to it. Closed at
 * once, its numbers would be those of other files, and a peer that has not heard of the end would write to these, or
 * beyond their ends (SIGBUS).
 */
final class RetiredWorkers {
    private static final int MAX_KEPT = 4;
    private static final Deque<Runnable> CLOSINGS = new ArrayDeque<>();

    private RetiredWorkers() { }

    /** @param close closes the worker; on any thread */
    static synchronized void keep(Runnable close) {
        CLOSINGS.add(close);
        if (CLOSINGS.size() > MAX_KEPT) closeOldest();
    }

    /** @return whether there was one */
    static synchronized boolean closeOldest() {
        Runnable oldest = CLOSINGS.poll();
        if (oldest != null) oldest.run();
        return oldest != null;
    }
}
