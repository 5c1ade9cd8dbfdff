package org.apache.hadoop.ipc;

import io.hearth.hadoop.ServerConnections;
import io.hearth.hadoop.RpcSettings;
import io.hearth.hadoop.WireLocation;
import io.hearth.transport.Buffer;
import io.hearth.transport.Connection;
import io.hearth.transport.Reply;
import io.hearth.transport.WireException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.SocketFactory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.retry.RetryPolicy;
import org.apache.hadoop.ipc.Client.ConnectionId;
import org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos.GenericRefreshRequestProto;
import org.apache.hadoop.ipc.protobuf.IpcConnectionContextProtos.IpcConnectionContextProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcRequestHeaderProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcRequestHeaderProto.OperationProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcResponseHeaderProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcResponseHeaderProto.RpcStatusProto;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.SaslRpcServer.AuthMethod;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.protobuf.CodedInputStream;
import org.apache.hadoop.thirdparty.protobuf.ExtensionRegistryLite;
import org.apache.hadoop.thirdparty.protobuf.Message;
import org.apache.hadoop.thirdparty.protobuf.ServiceException;
import org.apache.hadoop.util.ProtoUtil;

/**
 * A protocol's client side: calls over the wire, where there is one, with the ids, errors and deadlines of Hadoop's own.
 *
 * <p>A call that was not sent goes over Hadoop's TCP, if that is allowed, with the same ids; so does a later attempt of
 * one that was, so that a server that keeps answers for attempts (retry cache) knows it again.
 *
 * <p>In Hadoop's package for what only that may use; {@code client} and {@code clientId} nobody else may.
 */
public final class WireInvoker extends ProtobufRpcEngine2.Invoker {
    private static final ExtensionRegistryLite NO_EXTENSIONS = ExtensionRegistryLite.getEmptyRegistry();
    private static final long FOR_EVER_NS = TimeUnit.DAYS.toNanos(365);

    private final Configuration conf;
    private final Optional<AlignmentContext> alignment;
    private final Client client;
    private final byte[] clientId;
    private final IpcConnectionContextProto context;
    private final boolean fallsBack;
    private final Map<String, Message> answers = new ConcurrentHashMap<>();

    /** @param alignment as Hadoop's; calls that have one go over TCP */
    public WireInvoker(Class<?> protocol, ConnectionId id, Configuration conf, SocketFactory factory,
            Optional<AlignmentContext> alignment) throws IOException {
        super(protocol, id, conf, factory, alignment.orElse(null));
        this.conf = conf;
        this.alignment = alignment;
        this.fallsBack = RpcSettings.fallsBack(conf);
        this.client = (Client) field(ProtobufRpcEngine2.Invoker.class, "client", this);
        this.clientId = (byte[]) field(Client.class, "clientId", client);
        this.context = ProtoUtil.makeIpcConnectionContext(getProtocolName(), id.getTicket(), AuthMethod.SIMPLE);
    }

    private static Object field(Class<?> of, String name, Object in) throws IOException {
        try {
            Field field = of.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(in);
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new IOException("this Hadoop is not one that hearth's engine knows: it was built for 3.5 (" + e + ")", e);
        }
    }

    public static ConnectionId connectionId(InetSocketAddress server, Class<?> protocol, UserGroupInformation ticket,
            int rpcTimeout, RetryPolicy policy, Configuration conf) throws IOException {
        return ConnectionId.getConnectionId(server, protocol, ticket, rpcTimeout, policy, conf);
    }

    @Override
    public Message invoke(Object proxy, Method method, Object[] arguments) throws ServiceException {
        boolean carriable =
                !Client.isAsynchronousMode() && alignment.isEmpty() && arguments.length == 2 && arguments[1] != null;
        try {
            Optional<Message> answer = carriable ? overWire(method, (Message) arguments[1]) : Optional.empty();
            if (answer.isPresent()) return answer.get();
            if (!fallsBack) throw new IOException(carriable
                    ? "there is no wire to " + getConnectionId().getAddress() + ", and hearth.rpc.fallback is off: the log"
                            + " of this process says why"
                    : "asynchronous calls and observer reads do not go over the wire, and hearth.rpc.fallback is off");
        } catch (InterruptedException e) {
            usedUp();
            Thread.currentThread().interrupt();
            throw new ServiceException(new InterruptedIOException("Call interrupted"));
        } catch (IOException | RuntimeException e) {
            usedUp();
            throw new ServiceException(e);
        } catch (Error e) {
            usedUp();
            throw e;
        }
        return super.invoke(proxy, method, arguments);
    }

    /** The ids that this thread's policy of retrying gave this call, also where it failed before it took them. */
    private static void usedUp() {
        Client.setCallIdAndRetryCountUnprotected(null, 0, null);
    }

    /** @return empty where it was not sent; the ids that it would have had are those of this thread's next call */
    private Optional<Message> overWire(Method method, Message request) throws IOException, InterruptedException {
        Optional<ServerConnections> peers = ServerConnections.of(conf);
        if (peers.isEmpty()) return Optional.empty();
        Optional<Connection> wire = peers.get().to(getConnectionId().getAddress(), this::port);
        if (wire.isEmpty()) return Optional.empty();
        var named = (ProtobufRpcEngine2.RpcProtobufRequest) constructRpcRequest(method, request);
        Client.Call call = client.createCall(RPC.RpcKind.RPC_PROTOCOL_BUFFER, named);
        Optional<Reply> reply = send(wire.get(), call, named.getRequestHeader(), request);
        Optional<Message> answer = reply.isPresent() ? answer(method, reply.get()) : Optional.empty();
        if (answer.isPresent()) return answer;
        Client.setCallIdAndRetryCountUnprotected(call.id, call.retry, Client.getExternalHandler());
        return Optional.empty();
    }

    /** @return empty where it was not sent: too long, or no room now */
    private Optional<Reply> send(Connection wire, Client.Call call, Message name, Message request) throws IOException {
        RpcRequestHeaderProto header = ProtoUtil.makeRpcRequestHeader(call.rpcKind, OperationProto.RPC_FINAL_PACKET,
                call.id, call.retry, clientId);
        try {
            Buffer bytes = WireBytes.write(List.of(header, context, name, request), wire::buffer);
            return Optional.of(wire.request(bytes, limitNs()));
        } catch (WireException notSent) {
            return Optional.empty();
        }
    }

    /** As Hadoop counts it: in whole intervals of its pings, where it sends any. */
    private long limitNs() {
        long limit = getConnectionId().getRpcTimeout();
        if (limit <= 0) return FOR_EVER_NS;
        long ping = getConnectionId().getDoPing() ? getConnectionId().getPingInterval() : 0;
        if (ping > 0 && ping < limit) limit = (limit + ping - 1) / ping * ping;
        return TimeUnit.MILLISECONDS.toNanos(limit);
    }

    /** @return empty where the server had no memory for the request, and has not looked at it */
    private Optional<Message> answer(Method method, Reply reply) throws IOException, InterruptedException {
        try (io.hearth.transport.Message message = reply.get()) {
            return Optional.of(read(method, WireBytes.open(message.data())));
        } catch (InterruptedException e) {
            reply.cancel(true);
            throw e;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof WireException of && of.kind() == WireException.Kind.BUSY) return Optional.empty();
            throw local(e.getCause());
        }
    }

    /** From the wire's own memory, which is the peer's again afterwards. */
    private Message read(Method method, CodedInputStream answer) throws IOException {
        RpcResponseHeaderProto header = answer.readMessage(RpcResponseHeaderProto.parser(), NO_EXTENSIONS);
        client.checkResponse(header);
        if (header.getStatus() == RpcStatusProto.SUCCESS)
            return answer.readMessage(prototype(method).getParserForType(), NO_EXTENSIONS);
        throw new RemoteException(header.getExceptionClassName(), header.getErrorMsg(), header.getErrorDetail());
    }

    /** What Hadoop's own client throws when the network fails, and its policies of retrying know. */
    private IOException local(Throwable cause) {
        IOException error = new IOException(cause.getMessage());
        if (cause instanceof WireException of && of.kind() == WireException.Kind.TIMED_OUT)
            error = new SocketTimeoutException(cause.getMessage());
        else if (cause instanceof WireException of && of.kind() == WireException.Kind.LOST)
            error = new EOFException(cause.getMessage());
        error.initCause(cause);
        InetSocketAddress server = getConnectionId().getAddress();
        return NetUtils.wrapException(server.getHostName(), server.getPort(), NetUtils.getHostname(), 0, error);
    }

    private Message prototype(Method method) throws IOException {
        try {
            Message prototype = answers.get(method.getName());
            if (prototype == null) {
                prototype = (Message) method.getReturnType().getMethod("getDefaultInstance").invoke(null);
                answers.put(method.getName(), prototype);
            }
            return prototype;
        } catch (ReflectiveOperationException e) {
            throw new IOException("the answer's type " + method.getReturnType().getName() + " is not a protobuf message", e);
        }
    }

    /** Asked over Hadoop's own TCP, unless the server is in this process. */
    private int port(InetSocketAddress server) throws IOException {
        Optional<Integer> here = WireServer.portInThisProcess(server);
        if (here.isPresent()) return here.get();
        // This thread's next call has ids that its policy of retrying has given: the question is not that call.
        int id = Client.getCallId();
        int retry = Client.getRetryCount();
        Object handler = Client.getExternalHandler();
        usedUp();
        try {
            return askForPort(server);
        } finally {
            Client.setCallIdAndRetryCountUnprotected(id, retry, handler);
        }
    }

    private int askForPort(InetSocketAddress server) throws IOException {
        RPC.setProtocolEngine(conf, WireLocation.class, ProtobufRpcEngine2.class);
        WireLocation location = RPC.getProxy(WireLocation.class, RPC.getProtocolVersion(WireLocation.class), server,
                getConnectionId().getTicket(), conf, NetUtils.getDefaultSocketFactory(conf), getConnectionId().getRpcTimeout());
        try {
            GenericRefreshRequestProto request = GenericRefreshRequestProto.newBuilder().setIdentifier("1").build();
            return location.refresh(null, request).getResponses(0).getExitStatus();
        } catch (ServiceException e) {
            throw e.getCause() instanceof IOException cause ? cause : new IOException(e);
        } finally {
            RPC.stopProxy(location);
        }
    }
}
