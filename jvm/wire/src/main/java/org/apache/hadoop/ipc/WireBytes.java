package org.apache.hadoop.ipc;

import io.hearth.transport.Buffer;
import io.hearth.transport.WireException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.hadoop.thirdparty.protobuf.CodedInputStream;
import org.apache.hadoop.thirdparty.protobuf.CodedOutputStream;
import org.apache.hadoop.thirdparty.protobuf.Message;

/** Hadoop's messages in the wire's memory, in the form that they have on TCP: a length, then each behind its own. */
final class WireBytes {
    private static final int LENGTH = Integer.BYTES;

    private WireBytes() { }

    /** The wire's memory for one message. */
    @FunctionalInterface
    interface Memory {
        Buffer take(int bytes) throws WireException;
    }

    /** @throws WireException where they are too long, or no memory is left now */
    static Buffer write(List<Message> messages, Memory memory) throws IOException {
        int bytes = size(messages);
        Buffer buffer = memory.take(LENGTH + bytes);
        try {
            ByteBuffer into = buffer.data().putInt(bytes);
            CodedOutputStream out = CodedOutputStream.newInstance(into);
            for (Message message : messages) out.writeMessageNoTag(message);
            out.flush();
            return buffer;
        } catch (IOException | RuntimeException e) {
            buffer.close();
            throw e;
        }
    }

    /** Bytes of the messages, each with its length. */
    static int size(List<Message> messages) {
        return messages.stream().mapToInt(CodedOutputStream::computeMessageSizeNoTag).reduce(0, Math::addExact);
    }

    /** @throws IOException where the length is not that of the bytes */
    static CodedInputStream open(ByteBuffer from) throws IOException {
        return CodedInputStream.newInstance(checked(from));
    }

    /** A copy: Hadoop's server parses a request when a handler has it, from an array alone. */
    static RpcWritable.Buffer copy(ByteBuffer from) throws IOException {
        byte[] bytes = new byte[checked(from).remaining()];
        from.get(bytes);
        return RpcWritable.Buffer.wrap(ByteBuffer.wrap(bytes));
    }

    private static ByteBuffer checked(ByteBuffer from) throws IOException {
        int there = from.remaining() - LENGTH;
        int said = there < 0 ? -1 : from.getInt();
        if (said != there) throw new IOException("a message of " + there + " bytes says that it has " + said);
        return from;
    }
}
