package io.hearth.hadoop;

import org.apache.hadoop.ipc.ProtocolInfo;
import org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos.GenericRefreshProtocolService;

/**
 * Where a Hadoop server's wire listens: asked once for each address, over Hadoop's own RPC, so that a server which
 * does not speak it answers like any other that lacks a protocol.
 *
 * <p>Its messages are those of Hadoop's generic refresh: the request names this protocol's version, the answer's exit
 * status is the port.
 */
@ProtocolInfo(protocolName = "io.hearth.hadoop.WireLocation", protocolVersion = 1)
public interface WireLocation extends GenericRefreshProtocolService.BlockingInterface { }
