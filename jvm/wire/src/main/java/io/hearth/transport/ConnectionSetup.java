package io.hearth.transport;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A socket whose two sides do not trust each other yet. It has 4 KB and a deadline.
 *
 * <p>When both have proved the secret, they try UCX: the server makes its endpoint before it accepts, the
 * client sends a probe through its own, and says on the socket what came of it.
 */
final class ConnectionSetup implements TcpAgent.Attached {
    private static final int LENGTH_BYTES = 2;
    private static final byte[] NO_ADDRESS = new byte[0];

    private enum Await { CONNECTED, HELLO, CHALLENGE, PROOF, ENDPOINT, ACCEPTED, PROBED, CHOICE, NOTHING }

    private final TcpAgent agent;
    private final SocketChannel channel;
    private final SocketAddress peer;
    private final Service service;
    private final Optional<CompletableFuture<Connection>> opened;
    private final Handshake handshake;
    private final ByteBuffer in = ByteBuffer.allocate(LENGTH_BYTES + Handshake.MAX_BYTES);
    private final long token = Agent.token();
    private final long deadlineNs;
    private Await await;
    private boolean overUcx;
    private Optional<Handshake.Offer> theirs = Optional.empty();
    private byte[] ownAddress = NO_ADDRESS;

    private ConnectionSetup(TcpAgent agent, SocketChannel channel, SocketAddress peer, Service service,
            Optional<CompletableFuture<Connection>> opened) {
        this.agent = agent;
        this.channel = channel;
        this.peer = peer;
        this.service = service;
        this.opened = opened;
        this.handshake = new Handshake(agent.settings());
        this.deadlineNs = agent.nowNs() + agent.settings().limits().handshakeLimit().toNanos();
        this.await = opened.isPresent() ? Await.CONNECTED : Await.HELLO;
    }

    static ConnectionSetup client(TcpAgent agent, SocketChannel channel, InetSocketAddress peer, Service service,
            CompletableFuture<Connection> opened) {
        return new ConnectionSetup(agent, channel, peer, service, Optional.of(opened));
    }

    static ConnectionSetup server(TcpAgent agent, SocketChannel channel, Service service) throws IOException {
        return new ConnectionSetup(agent, channel, channel.getRemoteAddress(), service, Optional.empty());
    }

    boolean isServer() {
        return opened.isEmpty();
    }

    @Override
    public void ready(SelectionKey key) throws IOException {
        try {
            if (await == Await.CONNECTED) connected(key);
            else read();
        } catch (WireException e) {
            fail(e.kind(), e.getMessage());
        }
    }

    private void connected(SelectionKey key) throws IOException {
        if (!channel.finishConnect()) return;
        key.interestOps(SelectionKey.OP_READ);
        await = Await.CHALLENGE;
        write(handshake.hello());
    }

    private void read() throws IOException {
        int count = channel.read(in);
        if (count < 0) throw new IOException("the peer closed the connection before it was authenticated");
        while (await != Await.NOTHING) if (!step()) return;
    }

    /** @return whether there may be another message */
    private boolean step() throws IOException {
        if (await == Await.HELLO && !Handshake.plausible(in))
            throw new IOException("it sent something other than a greeting");
        if (in.position() < LENGTH_BYTES) return false;
        int length = Short.toUnsignedInt(in.getShort(0));
        if (length > Handshake.MAX_BYTES) throw new IOException("it sent a greeting of " + length + " bytes, the limit is "
                + Handshake.MAX_BYTES);
        if (in.position() < LENGTH_BYTES + length || await == Await.ENDPOINT || await == Await.PROBED) return false;
        byte[] body = new byte[length];
        in.flip().position(LENGTH_BYTES).get(body);
        in.compact();
        take(body);
        return true;
    }

    private void take(byte[] body) throws IOException {
        switch (await) {
            case HELLO -> {
                write(handshake.challenge(body));
                await = Await.PROOF;
            }
            case CHALLENGE -> {
                write(handshake.proof(body, offer()));
                await = Await.ACCEPTED;
            }
            case PROOF -> proven(handshake.proven(body));
            case ACCEPTED -> accepted(handshake.accepted(body));
            case CHOICE -> chosen(handshake.chosen(body));
            default -> throw new IOException("it sent more than a greeting");
        }
    }

    private Handshake.Offer offer() {
        WireSettings settings = agent.settings();
        ownAddress = agent.ucx().map(EndpointAgent::address).orElse(NO_ADDRESS);
        return new Handshake.Offer(token, settings.windowBytes(), settings.maxMessageBytes(), ownAddress, agent.whyNoUcx());
    }

    private Connection.ConnectionParameters parameters(String transport, String why) {
        Handshake.Offer offer = theirs.orElseThrow();
        int maxMessageBytes = Math.min(offer.maxMessageBytes(), agent.settings().maxMessageBytes());
        return new Connection.ConnectionParameters(peer, token, offer.token(), offer.window(), maxMessageBytes, transport, why);
    }

    /** Why UCX cannot be tried; absent where it can. */
    private Optional<String> noUcx() {
        if (agent.ucx().isEmpty()) return Optional.of(agent.whyNoUcx());
        Handshake.Offer offer = theirs.orElseThrow();
        return offer.ucx().length == 0 ? Optional.of("the peer: " + offer.why()) : Optional.empty();
    }

    // --- the server ---

    private void proven(Handshake.Offer offer) throws IOException {
        theirs = Optional.of(offer);
        if (noUcx().isPresent()) {
            accept();
            return;
        }
        await = Await.ENDPOINT;
        EndpointAgent ucx = agent.ucx().get();
        ucx.run(() -> {
            Optional<String> failure = ucx.serve(parameters("ucx", ""), offer.ucx(), service, this::ended);
            agent.run(() -> endpoint(failure));
        });
    }

    /** The client finds out by its probe where the endpoint could not be made. */
    private void endpoint(Optional<String> failure) {
        if (await != Await.ENDPOINT) return;
        failure.ifPresent(why -> agent.log().once("endpoint" + why, "UCX cannot reach " + peer + ": " + why));
        try {
            accept();
        } catch (IOException e) {
            close(e.getMessage());
        }
    }

    private void accept() throws IOException {
        await = Await.CHOICE;
        write(handshake.accept(offer()));
    }

    private void chosen(Handshake.Choice choice) throws IOException {
        if (choice.ucx()) {
            EndpointAgent ucx = agent.ucx().orElseThrow(() -> new IOException("it chose a transport that is not available"));
            watch();
            ucx.run(() -> {
                if (!ucx.knows(token)) agent.run(() -> TcpAgent.closeQuietly(channel));
            });
        } else {
            agent.ucx().ifPresent(ucx -> ucx.run(() -> ucx.drop(token, "the client chose TCP")));
            openTcp(choice.why());
        }
    }

    // --- the client ---

    private void accepted(Handshake.Offer offer) throws IOException {
        theirs = Optional.of(offer);
        Optional<String> reason = noUcx();
        if (reason.isPresent()) {
            choose(Optional.empty(), reason.get());
            return;
        }
        await = Await.PROBED;
        EndpointAgent ucx = agent.ucx().get();
        EndpointAgent.Tried tried = new EndpointAgent.Tried() {
            @Override
            public void done(Optional<Connection> connection, String why) {
                agent.run(() -> probed(connection, why));
            }

            @Override
            public void startAgain() {
                agent.run(ConnectionSetup.this::startAgain);
            }
        };
        ucx.run(() -> ucx.probe(parameters("ucx", ""), ownAddress, offer.ucx(), service, this::ended, tried));
    }

    private void startAgain() {
        if (await != Await.PROBED) return;
        await = Await.NOTHING;
        agent.over(this);
        TcpAgent.closeQuietly(channel);
        agent.connect((InetSocketAddress) peer, service, opened.orElseThrow());
    }

    private void probed(Optional<Connection> connection, String why) {
        try {
            if (await == Await.PROBED) choose(connection, why);
            else connection.ifPresent(Connection::close);
        } catch (WireException e) {
            fail(e.kind(), e.getMessage());
        } catch (IOException e) {
            close(e.getMessage());
        }
    }

    private void choose(Optional<Connection> connection, String why) throws IOException {
        if (connection.isEmpty() && agent.settings().transports() == WireSettings.Transports.UCX)
            throw new WireException(WireException.Kind.REFUSED, "UCX was requested but is unavailable: " + why);
        write(handshake.choice(new Handshake.Choice(connection.isPresent(), why)));
        if (connection.isEmpty()) openTcp(why);
        else {
            watch();
            opened.orElseThrow().complete(connection.get());
        }
    }

    // --- both ---

    private void openTcp(String why) throws IOException {
        if (agent.settings().transports() == WireSettings.Transports.UCX)
            throw new WireException(WireException.Kind.REFUSED, "UCX was requested but is unavailable: " + why);
        if (!why.isEmpty() && agent.settings().transports() != WireSettings.Transports.TCP)
            agent.log().once("tcp" + why, "messages go over TCP: " + why);
        Connection connection = new Connection(parameters("tcp", why), agent, service);
        TcpLink link = new TcpLink(agent, channel, connection, token);
        agent.add(connection);
        connection.open(link);
        finish(link);
        opened.ifPresent(future -> future.complete(connection));
        if (in.position() > 0) begin(link);
    }

    /** What has come behind the handshake is no longer this object's: where it is broken the connection ends. */
    private void begin(TcpLink link) {
        try {
            link.begin(in.flip());
        } catch (IOException | RuntimeException | Error broken) {
            link.close(broken.getMessage() == null ? broken.toString() : broken.getMessage());
        }
    }

    private void watch() {
        overUcx = true;
        finish(new Watch());
    }

    private void finish(TcpAgent.Attached next) {
        await = Await.NOTHING;
        agent.over(this);
        agent.key(channel).attach(next);
    }

    /** A handshake's messages are smaller than any socket's buffer. */
    private void write(byte[] body) throws IOException {
        ByteBuffer out = ByteBuffer.allocate(LENGTH_BYTES + body.length).putShort((short) body.length).put(body).flip();
        channel.write(out);
        if (out.hasRemaining()) throw new IOException("the peer does not read");
    }

    void look(long nowNs) {
        if (nowNs - deadlineNs >= 0)
            close("it was not authenticated within " + agent.settings().limits().handshakeLimit().toMillis() + " ms (handshakeLimit)");
    }

    /** What UCX had of this connection has ended, perhaps because it was not chosen; on UCX's thread. */
    private void ended() {
        agent.run(() -> {
            if (overUcx) TcpAgent.closeQuietly(channel);
        });
    }

    @Override
    public void close(String because) {
        fail(WireException.Kind.LOST, because);
    }

    private void fail(WireException.Kind kind, String because) {
        if (await == Await.NOTHING) return;
        await = Await.NOTHING;
        agent.over(this);
        agent.ucx().ifPresent(ucx -> ucx.run(() -> ucx.drop(token, because)));
        if (isServer()) {
            String host = peer instanceof InetSocketAddress inet ? inet.getHostString() : peer.toString();
            agent.log().once(host, "a connection from " + peer + " was closed: " + because
                    + "; further failures from there are not logged");
            refuse(because);
        }
        TcpAgent.closeQuietly(channel);
        opened.ifPresent(future -> future.completeExceptionally(
                new WireException(kind, "no connection with " + peer + ": " + because)));
    }

    /** Says why to a peer that has greeted properly; to nobody else. */
    private void refuse(String because) {
        if (in.position() > 0 || theirs.isPresent()) return;
        try {
            write(Handshake.refusal(because));
        } catch (IOException gone) {
            agent.log().once("refusal", "a refusal could not be sent: " + gone.getMessage());
        }
    }

    /** The socket of a UCX connection: nothing comes on it but its end. */
    private final class Watch implements TcpAgent.Attached {
        @Override
        public void ready(SelectionKey key) throws IOException {
            int count = channel.read(agent.readBuffer());
            if (count != 0) close(count < 0 ? "the peer closed the connection" : "the peer sent bytes beside UCX");
        }

        @Override
        public void close(String because) {
            TcpAgent.closeQuietly(channel);
            agent.ucx().ifPresent(ucx -> ucx.run(() -> ucx.drop(token, because)));
        }
    }
}
