package io.hearth.transport;

import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;

/**
 * Work that other threads hand to an agent's thread.
 *
 * <p>New work is bounded: {@link #offer} says no. What must not get lost (answers, memory given back,
 * cancellations) has no bound of its own: there is at most one for each message that is under way.
 */
final class WorkQueue {
    private static final int ROUND = 256;

    private final ArrayBlockingQueue<Runnable> offered;
    private final Queue<Runnable> owed = new ConcurrentLinkedQueue<>();
    private final Consumer<Throwable> trouble;
    private volatile boolean closed;

    /** @param trouble gets what a piece of work throws: the others are done all the same */
    WorkQueue(int limit, Consumer<Throwable> trouble) {
        this.trouble = trouble;
        this.offered = new ArrayBlockingQueue<>(limit);
    }

    /** @return false where the queue is full */
    boolean offer(Runnable work) {
        boolean taken = !closed && offered.offer(work);
        if (closed) finish();
        return taken;
    }

    void must(Runnable work) {
        owed.add(work);
        if (closed) finish();
    }

    boolean isEmpty() {
        return owed.isEmpty() && offered.isEmpty();
    }

    /** @return how many pieces of work were done, at most some hundred */
    int drain() {
        int done = drain(owed);
        return done + drain(offered);
    }

    private int drain(Queue<Runnable> queue) {
        int done = 0;
        while (done < ROUND) {
            Runnable work = queue.poll();
            if (work == null) break;
            done++;
            try {
                work.run();
            } catch (Throwable fault) {
                trouble.accept(fault);
            }
        }
        return done;
    }

    /** Does what is there; what comes later is done by the thread that brings it, as the owner has ended. */
    void close() {
        closed = true;
        finish();
    }

    private synchronized void finish() {
        int done;
        do done = drain();
        while (done > 0);
    }
}
