package io.hearth.transport;

import java.util.Optional;
import java.util.function.LongSupplier;

/** The transport that goes round the socket, as the rest sees it: jucx may be missing, so no class of it is named here. */
abstract class EndpointAgent extends Agent {

    EndpointAgent(WireSettings settings, BufferPool pool, LongSupplier clockNs, OnceLog log) {
        super(settings, pool, clockNs, log);
    }

    /** What came of a probe. */
    interface Tried {
        /** A connection, or the reason why there is none. */
        void done(Optional<Connection> connection, String why);

        /** This side has another address than the one that the peer was given. */
        void startAgain();
    }

    // --- any thread ---

    /** What a peer needs to reach this side; the same array as long as it is the same. Not to be changed. */
    abstract byte[] address();

    abstract int endpoints();

    /** Messages that have not ended. */
    abstract int inFlight();

    /** @param wake makes another thread wake this one every 10 ms while something has a deadline */
    abstract void setTimer(Runnable wake);

    // --- its own thread ---

    /** A server's side, which is open from now on. @return why it could not be made */
    abstract Optional<String> serve(Connection.ConnectionParameters parameters, byte[] peer, Service service, Runnable ended);

    /**
     * A client's side: asks through the endpoint whether the server is there.
     *
     * @param given this side's address, as the server has it
     */
    abstract void probe(Connection.ConnectionParameters parameters, byte[] given, byte[] peer, Service service, Runnable ended, Tried tried);

    abstract boolean knows(long token);

    abstract void drop(long token, String because);
}
