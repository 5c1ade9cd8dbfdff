package org.apache.hadoop.ipc;

import io.hearth.transport.Buffer;
import io.hearth.transport.WireException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;

/** Hadoop's messages to and from the wire's memory, in the form that they have on TCP: a length, then the bytes. */
final class WireBytes {
    private static final int LENGTH = Integer.BYTES;

    private WireBytes() { }

    /** The wire's memory for one message. */
    @FunctionalInterface
    interface Memory {
        Buffer take(int bytes) throws WireException;
    }

    /** @throws WireException where it is too long, or no memory is left now */
    static Buffer copy(ResponseBuffer bytes, Memory memory) throws IOException {
        Buffer buffer = memory.take(LENGTH + bytes.size());
        try {
            ByteBuffer into = buffer.data();
            bytes.writeTo(new OutputStream() {
                @Override
                public void write(int one) {
                    into.put((byte) one);
                }

                @Override
                public void write(byte[] from, int offset, int length) {
                    into.put(from, offset, length);
                }
            });
            return buffer;
        } catch (IOException | RuntimeException e) {
            buffer.close();
            throw e;
        }
    }

    /** @throws IOException where the length is not that of the bytes */
    static RpcWritable.Buffer read(ByteBuffer from) throws IOException {
        int there = from.remaining() - LENGTH;
        int said = there < 0 ? -1 : from.getInt();
        if (said != there) throw new IOException("a message of " + there + " bytes says that it has " + said);
        byte[] bytes = new byte[there];
        from.get(bytes);
        return RpcWritable.Buffer.wrap(ByteBuffer.wrap(bytes));
    }
}
