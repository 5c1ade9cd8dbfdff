package io.hearth.transport;

import java.util.concurrent.CompletableFuture;

/**
 * The answer to a request, to come. It completes on the agent's thread: what is chained to it must be
 * short, or be handed to another thread.
 *
 * <p>It fails with a {@link WireException}. Cancelling it tells the other side.
 */
public final class Reply extends CompletableFuture<Message> {
    /** Where a request stands; the connection's thread alone sees it. */
    enum State { WAITING, SENT, ABANDONED, DONE }

    final Buffer request;
    final long deadlineNs;
    private final Connection connection;
    State state = State.WAITING;
    int id;

    Reply(Connection connection, Buffer request, long deadlineNs) {
        this.connection = connection;
        this.request = request;
        this.deadlineNs = deadlineNs;
    }

    @Override
    public boolean cancel(boolean mayInterrupt) {
        boolean did = super.cancel(mayInterrupt);
        if (did) connection.cancelled(this);
        return did;
    }
}
