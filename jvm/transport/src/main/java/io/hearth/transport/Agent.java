package io.hearth.transport;

/** The owner of sockets or of a UCX worker: only its thread touches them. */
public interface Agent {

    /** One round: never waits. @return how much was done; 0 where there was nothing to do */
    int doWork();

    /** Whether it has connections that carry messages, so that polling makes sense. */
    boolean hot();

    /** Waits until something comes, until it is woken, or until a deadline is near. */
    void await();

    /** Ends an {@link #await}; any thread. */
    void wake();

    /**
     * A round has ended with this: its connections end too.
     *
     * @return whether another round makes sense
     */
    boolean survives(Throwable fault);

    /** The last round: closes all that it owns. */
    void shutDown();
}
