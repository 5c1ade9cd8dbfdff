package io.hearth.hadoop;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.SocketFactory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.retry.RetryPolicy;
import org.apache.hadoop.ipc.AlignmentContext;
import org.apache.hadoop.ipc.Client.ConnectionId;
import org.apache.hadoop.ipc.ProtobufRpcEngine2;
import org.apache.hadoop.ipc.ProtocolMetaInfoPB;
import org.apache.hadoop.ipc.ProtocolProxy;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.ipc.RpcEngine;
import org.apache.hadoop.ipc.WireInvoker;
import org.apache.hadoop.ipc.WireServer;
import org.apache.hadoop.net.StandardSocketFactory;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.SecretManager;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.apache.hadoop.util.VersionInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hadoop's protobuf RPC over hearth's wire, for Hadoop 3.5: {@code rpc.engine.PROTOCOL=io.hearth.hadoop.WireRpcEngine}, the protocol's
 * interface by name, in the configuration of both sides.
 *
 * <p>A server listens at its TCP address as always, and at a port of the wire beside it. A client asks at the TCP
 * address for that port once; where there is none, where Hadoop's security (SASL) is on, through socket factories other
 * than the standard one (proxies), and for asynchronous calls and those with an alignment context (observer reads), calls
 * go over TCP as without hearth.
 */
public final class WireRpcEngine implements RpcEngine {
    private static final Logger LOG = LoggerFactory.getLogger(WireRpcEngine.class);
    private static final String MADE_FOR = "3.5";
    private static final boolean KNOWN = VersionInfo.getVersion().startsWith(MADE_FOR + ".");

    static {
        if (!KNOWN) LOG.warn("the wire is off: hearth's engine was built for Hadoop {}, this is {}", MADE_FOR,
                VersionInfo.getVersion());
    }

    private final RpcEngine hadoops = new ProtobufRpcEngine2();

    @Override
    public <T> ProtocolProxy<T> getProxy(Class<T> protocol, long clientVersion, InetSocketAddress server,
            UserGroupInformation ticket, Configuration conf, SocketFactory factory, int rpcTimeout,
            RetryPolicy connectionRetryPolicy) throws IOException {
        return getProxy(protocol, clientVersion, server, ticket, conf, factory, rpcTimeout, connectionRetryPolicy, null,
                null);
    }

    @Override
    public <T> ProtocolProxy<T> getProxy(Class<T> protocol, long clientVersion, InetSocketAddress server,
            UserGroupInformation ticket, Configuration conf, SocketFactory factory, int rpcTimeout,
            RetryPolicy connectionRetryPolicy, AtomicBoolean fallbackToSimpleAuth, AlignmentContext alignment)
            throws IOException {
        if (isHadoops(conf, factory))
            return hadoops.getProxy(protocol, clientVersion, server, ticket, conf, factory, rpcTimeout,
                    connectionRetryPolicy, fallbackToSimpleAuth, alignment);
        ConnectionId id = WireInvoker.connectionId(server, protocol, ticket, rpcTimeout, connectionRetryPolicy, conf);
        return getProxy(protocol, clientVersion, id, conf, factory, alignment);
    }

    @Override
    public <T> ProtocolProxy<T> getProxy(Class<T> protocol, long clientVersion, ConnectionId id, Configuration conf,
            SocketFactory factory, AlignmentContext alignment) throws IOException {
        if (isHadoops(conf, factory))
            return hadoops.getProxy(protocol, clientVersion, id, conf, factory, alignment);
        WireInvoker invoker = new WireInvoker(protocol, id, conf, factory, Optional.ofNullable(alignment));
        Object proxy = Proxy.newProxyInstance(protocol.getClassLoader(), new Class<?>[] {protocol}, invoker);
        return new ProtocolProxy<>(protocol, protocol.cast(proxy), false);
    }

    /** Whether no call of this proxy may go over the wire. */
    private static boolean isHadoops(Configuration conf, SocketFactory factory) throws IOException {
        boolean secure = UserGroupInformation.isSecurityEnabled();
        boolean direct = factory instanceof StandardSocketFactory || factory == SocketFactory.getDefault();
        if (KNOWN && direct && !secure) return false;
        if (RpcSettings.fallsBack(conf)) return true;
        String with = "the socket factory " + factory.getClass().getName();
        if (secure) with = "Hadoop's security (SASL)";
        if (!KNOWN) with = "Hadoop " + VersionInfo.getVersion();
        throw new IOException("the wire does not work with " + with + ", and " + RpcSettings.FALLBACK + " is off");
    }

    @Override
    public RPC.Server getServer(Class<?> protocol, Object instance, String bindAddress, int port, int numHandlers,
            int numReaders, int queueSizePerHandler, boolean verbose, Configuration conf,
            SecretManager<? extends TokenIdentifier> secretManager, String portRangeConfig, AlignmentContext alignment)
            throws IOException {
        if (!KNOWN)
            return hadoops.getServer(protocol, instance, bindAddress, port, numHandlers, numReaders, queueSizePerHandler,
                    verbose, conf, secretManager, portRangeConfig, alignment);
        return new WireServer(protocol, instance, conf, bindAddress, port, numHandlers, numReaders, queueSizePerHandler,
                verbose, secretManager, portRangeConfig, alignment, RpcSettings.of(conf));
    }

    @Override
    public ProtocolProxy<ProtocolMetaInfoPB> getProtocolMetaInfoProxy(ConnectionId id, Configuration conf,
            SocketFactory factory) throws IOException {
        return hadoops.getProtocolMetaInfoProxy(id, conf, factory);
    }
}
