package org.apache.hadoop.ipc;

import io.hearth.hadoop.RpcSettings;
import io.hearth.hadoop.WireLocation;
import io.hearth.transport.Request;
import io.hearth.transport.Wire;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos.GenericRefreshProtocolService;
import org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos.GenericRefreshResponseCollectionProto;
import org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos.GenericRefreshResponseProto;
import org.apache.hadoop.ipc.protobuf.IpcConnectionContextProtos.IpcConnectionContextProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcRequestHeaderProto;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AuthorizationException;
import org.apache.hadoop.security.authorize.ProxyUsers;
import org.apache.hadoop.security.token.SecretManager;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.apache.hadoop.thirdparty.protobuf.BlockingService;
import org.apache.hadoop.thirdparty.protobuf.ServiceException;
import org.apache.hadoop.util.ProtoUtil;

/**
 * Hadoop's protobuf server with a wire beside its TCP port, on the same host. Calls of both wait in one call queue,
 * are run by the same handlers, and count in the same metrics.
 *
 * <p>The agent's thread must not wait: a call goes from it into the call queue where its user is known already and the
 * queue is less than half full, else through a thread that may wait for room, and for the groups of a user. Memory is
 * bounded by the wire, which holds a call's bytes until its answer.
 *
 * <p>Where Hadoop's security is on, or the wire cannot be opened, it serves TCP alone and says why.
 */
public final class WireServer extends ProtobufRpcEngine2.Server {
    /** Users of one connection that are remembered. */
    private static final int MAX_USERS = 64;

    private static final Map<InetSocketAddress, Integer> PORTS_HERE = new ConcurrentHashMap<>();

    private final RpcSettings settings;
    private final boolean authorizes;
    private final int maxRequestBytes;
    private final LinkedBlockingQueue<WireCall> waiting = new LinkedBlockingQueue<>();
    /** Those that were authorized, by connection, as on TCP. */
    private final Map<io.hearth.transport.Connection, Map<IpcConnectionContextProto, UserGroupInformation>> users =
            new ConcurrentHashMap<>();
    private final ScheduledExecutorService responder = Executors.newSingleThreadScheduledExecutor(work -> {
        Thread thread = new Thread(work, "hearth-rpc-responder");
        thread.setDaemon(true);
        return thread;
    });
    private final Thread reader = new Thread(this::queueThoseThatWait, "hearth-rpc-reader");
    private volatile Optional<Wire> wire = Optional.empty();
    private volatile int wirePort;

    public WireServer(Class<?> protocol, Object implementation, Configuration conf, String bindAddress, int port,
            int handlers, int readers, int queueSizePerHandler, boolean verbose,
            SecretManager<? extends TokenIdentifier> secretManager, String portRange, AlignmentContext alignment,
            RpcSettings settings) throws IOException {
        super(protocol, implementation, conf, bindAddress, port, handlers, readers, queueSizePerHandler, verbose,
                secretManager, portRange, alignment);
        this.settings = settings;
        this.authorizes = conf.getBoolean(CommonConfigurationKeys.HADOOP_SECURITY_AUTHORIZATION, false);
        this.maxRequestBytes = conf.getInt(CommonConfigurationKeys.IPC_MAXIMUM_DATA_LENGTH,
                CommonConfigurationKeys.IPC_MAXIMUM_DATA_LENGTH_DEFAULT);
        BlockingService location = GenericRefreshProtocolService.newReflectiveBlockingService(
                (WireLocation) (controller, request) -> location());
        addProtocol(RPC.RpcKind.RPC_PROTOCOL_BUFFER, WireLocation.class, location);
    }

    /** Where the wire of the server at this RPC address listens, if the server is in this process. */
    static Optional<Integer> portInThisProcess(InetSocketAddress server) {
        return PORTS_HERE.entrySet().stream().filter(entry -> reaches(server, entry.getKey()))
                .map(Map.Entry::getValue).findFirst();
    }

    private static boolean reaches(InetSocketAddress server, InetSocketAddress listens) {
        return server.equals(listens) || server.getPort() == listens.getPort()
                && listens.getAddress().isAnyLocalAddress() && NetUtils.isLocalAddress(server.getAddress());
    }

    /** At which port the wire listens; 0 where it does not. */
    public int wirePort() {
        return wirePort;
    }

    private GenericRefreshResponseCollectionProto location() throws ServiceException {
        if (wirePort == 0) throw new ServiceException(new IOException("the wire of this server is off: its log says why"));
        return GenericRefreshResponseCollectionProto.newBuilder()
                .addResponses(GenericRefreshResponseProto.newBuilder().setExitStatus(wirePort)).build();
    }

    @Override
    public synchronized void start() {
        openWire(); // first: whoever reaches the TCP port may ask for the wire's
        super.start();
    }

    private void openWire() {
        if (UserGroupInformation.isSecurityEnabled()) {
            LOG.info("the wire is off: it does not support Hadoop's security (SASL)");
            return;
        }
        try {
            Wire opened = Wire.open(settings.wire(), LOG::warn);
            wire = Optional.of(opened);
            InetAddress host = getListenerAddress().getAddress();
            wirePort = opened.listen(new InetSocketAddress(host, settings.port()), this::onRequest).getPort();
            PORTS_HERE.put(getListenerAddress(), wirePort);
            reader.setDaemon(true);
            reader.start();
            String why = settings.whyNoUcx().isEmpty() ? opened.whyNoUcx() : settings.whyNoUcx();
            LOG.info("RPC of port {} by hearth's wire on port {}{}", getPort(), wirePort,
                    why.isEmpty() ? "" : " (TCP: " + why + ")");
        } catch (IOException | RuntimeException | Error e) { // an Error too: the server serves TCP all the same
            LOG.warn("RPC of port {} goes over TCP only: {}", getPort(), e.toString());
            closeWire();
        }
    }

    @Override
    public synchronized void stop() {
        closeWire();
        super.stop();
    }

    private void closeWire() {
        reader.interrupt();
        responder.shutdownNow();
        wire.ifPresent(Wire::close);
        wire = Optional.empty();
        PORTS_HERE.remove(getListenerAddress(), wirePort);
        wirePort = 0;
    }

    /** On the agent's thread. */
    private void onRequest(Request request) {
        WireCall call;
        try {
            call = read(request);
        } catch (IOException | RuntimeException e) {
            request.fail("this is not a call that Hadoop's RPC knows: " + e);
            return;
        }
        UserGroupInformation user = usersOf(request.connection()).get(call.context());
        boolean room = waiting.isEmpty() && getCallQueueLen() < getMaxQueueSize() / 2;
        if (user == null || !room) {
            waiting.add(call);
            return;
        }
        call.by(user);
        try {
            queue(call);
        } catch (InterruptedException e) { // an interrupt that stayed would close the agent's channels
            call.refuse(new InterruptedIOException("interrupted before the call was queued"));
        }
    }

    private WireCall read(Request request) throws IOException {
        int bytes = request.data().remaining();
        if (bytes > maxRequestBytes) throw new IOException("Requested data length " + bytes
                + " is longer than maximum configured RPC length " + maxRequestBytes + " (ipc.maximum.data.length)");
        rpcMetrics.incrReceivedBytes(bytes);
        RpcWritable.Buffer packet = WireBytes.copy(request.data());
        RpcRequestHeaderProto header = packet.getValue(RpcRequestHeaderProto.getDefaultInstance());
        IpcConnectionContextProto context = packet.getValue(IpcConnectionContextProto.getDefaultInstance());
        return new WireCall(this, request, header, context,
                packet.newInstance(ProtobufRpcEngine2.RpcProtobufRequest.class, getConf()));
    }

    private Map<IpcConnectionContextProto, UserGroupInformation> usersOf(io.hearth.transport.Connection connection) {
        Map<IpcConnectionContextProto, UserGroupInformation> known = users.get(connection);
        if (known == null) {
            known = new ConcurrentHashMap<>();
            users.put(connection, known);
            connection.end().whenComplete((reason, none) -> users.remove(connection));
        }
        return known;
    }

    private void queueThoseThatWait() {
        try {
            while (true) admit(waiting.take());
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whatever goes wrong is this call's: the next ones are waiting. */
    private void admit(WireCall call) throws InterruptedException {
        try {
            authorize(call);
            queue(call);
        } catch (RuntimeException | Error fault) {
            LOG.warn("a call could not be queued: {}", call, fault);
            call.refuse(new IOException(fault.toString(), fault));
        }
    }

    /** Work that a handler does not wait for. */
    void later(Runnable work, long pauseMs) {
        responder.schedule(work, pauseMs, TimeUnit.MILLISECONDS);
    }

    private void queue(WireCall call) throws InterruptedException {
        try {
            call.setPriorityLevel(getPriorityLevel(call));
            queueCall(call);
        } catch (IOException tooBusy) {
            call.refuse(tooBusy);
        }
    }

    private void authorize(WireCall call) {
        IpcConnectionContextProto context = call.context();
        Map<IpcConnectionContextProto, UserGroupInformation> known = users.getOrDefault(call.connection(), new HashMap<>());
        if (known.containsKey(context)) {
            call.by(known.get(context));
            return;
        }
        try {
            UserGroupInformation user = ProtoUtil.getUgi(context);
            if (user == null) throw new AuthorizationException("the call names no user");
            if (user.getRealUser() != null) ProxyUsers.authorize(user, call.getHostAddress());
            if (authorizes)
                getServiceAuthorizationManager().authorize(user, getProtocolClass(context.getProtocol(), getConf()),
                        getConf(), call.getHostInetAddress());
            rpcMetrics.incrAuthorizationSuccesses();
            if (known.size() < MAX_USERS) known.put(context, user);
            call.by(user);
        } catch (AuthorizationException e) {
            rpcMetrics.incrAuthorizationFailures();
            call.refused(e);
        } catch (ClassNotFoundException e) {
            rpcMetrics.incrAuthorizationFailures();
            call.refused(new AuthorizationException("Unknown protocol: " + context.getProtocol()));
        } catch (RuntimeException e) {
            call.refused(new AuthorizationException(e.toString()));
        }
    }
}
