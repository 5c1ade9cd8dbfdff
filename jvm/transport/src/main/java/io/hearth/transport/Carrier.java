package io.hearth.transport;

/** What a connection asks of the agent that carries it. */
interface Carrier {
    WireSettings settings();

    BufferPool pool();

    long nowNs();

    boolean isCurrent();

    /** @return false where the queue is full */
    boolean offer(Runnable work);

    /** Now where this is the carrier's thread, else soon. */
    void run(Runnable work);

    /** @param change by which the number of connections with something to wait for changes */
    void active(int change);

    void forget(Connection connection);
}
