package io.hearth.transport;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;

/**
 * Owns every socket: those that listen, those that still shake hands, those that carry messages, and those
 * that only show that a peer reached by UCX still lives.
 */
final class TcpAgent extends Agent {
    private static final long LONG_WAIT_MS = 1000;
    private static final int READ_BYTES = 1 << 16;

    private final Selector selector;
    private final Optional<EndpointAgent> ucx;
    private final String whyNoUcx;
    private final ByteBuffer read = ByteBuffer.allocateDirect(READ_BYTES);
    private final Set<ConnectionSetup> pendingHandshakes = new LinkedHashSet<>();
    private final Set<TcpLink> starved = new LinkedHashSet<>();
    private final List<SelectionKey> paused = new ArrayList<>();
    private volatile boolean longAsleep;
    private volatile int sockets;
    private long ucxSeenNs;
    private volatile int pendingCount;

    /** What a key of the selector belongs to. */
    interface Attached {
        void ready(SelectionKey key) throws IOException;

        void close(String because);
    }

    TcpAgent(WireSettings settings, BufferPool pool, LongSupplier clockNs, Optional<EndpointAgent> ucx, String whyNoUcx,
            OnceLog log) throws IOException {
        super(settings, pool, clockNs, log);
        this.selector = Selector.open();
        this.ucx = ucx;
        this.whyNoUcx = whyNoUcx;
        ucx.ifPresent(agent -> agent.setTimer(() -> {
            if (longAsleep) unblock();
        }));
    }

    // --- any thread ---

    InetSocketAddress listen(InetSocketAddress where, Service service) throws IOException {
        ServerSocketChannel server = ServerSocketChannel.open();
        try {
            server.configureBlocking(false);
            server.bind(where);
            InetSocketAddress bound = (InetSocketAddress) server.getLocalAddress();
            run(() -> attach(server, SelectionKey.OP_ACCEPT, new Listening(server, service)));
            return bound;
        } catch (IOException | RuntimeException e) {
            server.close();
            throw new IOException("cannot listen on " + where + ": " + e.getMessage(), e);
        }
    }

    CompletableFuture<Connection> connect(InetSocketAddress peer, Service service) {
        CompletableFuture<Connection> opened = new CompletableFuture<>();
        run(() -> connect(peer, service, opened));
        return opened;
    }

    int sockets() {
        return sockets;
    }

    int pendingHandshakes() {
        return pendingCount;
    }

    // --- this thread ---

    void connect(InetSocketAddress peer, Service service, CompletableFuture<Connection> opened) {
        try {
            SocketChannel channel = channel(SocketChannel.open());
            ConnectionSetup handshake = ConnectionSetup.client(this, channel, peer, service, opened);
            pendingHandshakes.add(handshake);
            attach(channel, SelectionKey.OP_CONNECT, handshake);
            channel.connect(peer);
        } catch (IOException | RuntimeException | Error e) {
            opened.completeExceptionally(new WireException(WireException.Kind.LOST, "cannot reach " + peer + ": " + e));
        }
    }

    static SocketChannel channel(SocketChannel channel) throws IOException {
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        return channel;
    }

    private void attach(java.nio.channels.SelectableChannel channel, int interest, Attached owner) {
        if (hasEnded()) {
            owner.close("this side has ended");
            return;
        }
        try {
            channel.register(selector, interest, owner);
        } catch (IOException e) {
            owner.close("it was closed at once: " + e);
        }
    }

    @Override
    int carry() {
        try {
            selector.selectNow();
            sockets = selector.keys().size();
        } catch (IOException e) {
            throw new IllegalStateException("the selector failed: " + e.getMessage(), e);
        }
        return handle();
    }

    private int handle() {
        int done = 0;
        for (SelectionKey key : selector.selectedKeys()) {
            Attached owner = (Attached) key.attachment();
            done++;
            try {
                if (key.isValid()) owner.ready(key);
            } catch (IOException | RuntimeException | Error e) {
                owner.close(e.getMessage() == null ? e.toString() : e.getMessage());
            }
        }
        selector.selectedKeys().clear();
        return done;
    }

    @Override
    void look(long nowNs) {
        for (ConnectionSetup handshake : new ArrayList<>(pendingHandshakes)) handshake.look(nowNs);
        for (SelectionKey key : paused) if (key.isValid()) key.interestOps(SelectionKey.OP_ACCEPT);
        paused.clear();
        for (TcpLink link : new ArrayList<>(starved)) link.feed();
        if (ucxActive()) ucxSeenNs = nowNs;
        if (ucxActive() || !pendingHandshakes.isEmpty()) ucx.ifPresent(Agent::wake);
        pendingCount = pendingHandshakes.size();
    }

    private boolean ucxActive() {
        return ucx.isPresent() && ucx.get().activeConnections() > 0;
    }

    /** Looks every 10 ms while anything has a deadline, and for a second after UCX had: so no call has to wake it. */
    @Override
    void block() {
        boolean soon = activeConnections() > 0 || !pendingHandshakes.isEmpty() || !starved.isEmpty() || !paused.isEmpty()
                || nowNs() - ucxSeenNs < LONG_WAIT_MS * 1_000_000;
        try {
            longAsleep = !soon;
            selector.select(soon || ucxActive() ? LOOK_NS / 1_000_000 : LONG_WAIT_MS);
            longAsleep = false;
        } catch (IOException e) {
            throw new IllegalStateException("the selector failed: " + e.getMessage(), e);
        }
    }

    @Override
    void unblock() {
        selector.wakeup();
    }

    @Override
    void recover(String because) {
        endConnections(because);
        for (ConnectionSetup handshake : new ArrayList<>(pendingHandshakes)) handshake.close(because);
    }

    @Override
    void end() {
        endConnections("this side has ended");
        for (SelectionKey key : new ArrayList<>(selector.keys())) ((Attached) key.attachment()).close("this side has ended");
        queue.close();
        try {
            selector.close();
        } catch (IOException e) {
            log().once("selector", "the selector could not be closed: " + e.getMessage());
        }
        sockets = 0;
        pendingCount = 0;
    }

    /** For reading what a socket has; used between two selects only. */
    ByteBuffer readBuffer() {
        return read.clear();
    }

    /** Absent too where it was given up. */
    Optional<EndpointAgent> ucx() {
        return ucx.filter(agent -> !agent.hasEnded());
    }

    String whyNoUcx() {
        return ucx.isPresent() && ucx().isEmpty() ? "UCX was abandoned after an error" : whyNoUcx;
    }

    /** The pool had no memory for what a link reads. */
    void starved(TcpLink link) {
        starved.add(link);
    }

    void fed(TcpLink link) {
        starved.remove(link);
    }

    /** A handshake is over; the socket goes on, or is closed. */
    void over(ConnectionSetup handshake) {
        pendingHandshakes.remove(handshake);
        pendingCount = pendingHandshakes.size();
    }

    SelectionKey key(SocketChannel channel) {
        return channel.keyFor(selector);
    }

    private void accepted(SocketChannel channel, Service service) throws IOException {
        long incoming = pendingHandshakes.stream().filter(ConnectionSetup::isServer).count();
        if (incoming >= settings().limits().pendingHandshakeLimit()) {
            log().once("many", "more than " + settings().limits().pendingHandshakeLimit() + " connections are not authenticated yet"
                    + " (pendingHandshakeLimit): the oldest is closed");
            pendingHandshakes.stream().filter(ConnectionSetup::isServer).findFirst().ifPresent(g -> g.close("too many unauthenticated connections"));
        }
        ConnectionSetup handshake = ConnectionSetup.server(this, channel(channel), service);
        pendingHandshakes.add(handshake);
        pendingCount = pendingHandshakes.size();
        attach(channel, SelectionKey.OP_READ, handshake);
    }

    /** A socket that listens. */
    private final class Listening implements Attached {
        private final ServerSocketChannel server;
        private final Service service;

        Listening(ServerSocketChannel server, Service service) {
            this.server = server;
            this.service = service;
        }

        @Override
        public void ready(SelectionKey key) {
            try {
                for (SocketChannel c = server.accept(); c != null; c = server.accept()) accepted(c, service);
            } catch (IOException e) {
                boolean files = String.valueOf(e.getMessage()).contains("Too many open files");
                log().once("accept", "a connection could not be accepted: " + e.getMessage()
                        + (files ? "; raise their limit (ulimit -n, fs.file-max)" : ""));
                pendingHandshakes.stream().filter(ConnectionSetup::isServer).findFirst().ifPresent(g -> g.close("no file descriptor is left"));
                key.interestOps(0);
                paused.add(key);
            }
        }

        @Override
        public void close(String because) {
            closeQuietly(server);
        }
    }

    /** A close that fails leaves nothing to do: the descriptor is gone in any case (close(2)). */
    static void closeQuietly(java.nio.channels.Channel channel) {
        try {
            channel.close();
        } catch (IOException ignored) {
            // What was not sent is lost, as its connection is.
        }
    }
}
