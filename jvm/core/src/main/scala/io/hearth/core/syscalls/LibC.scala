package io.hearth.core.syscalls

import com.sun.jna.{LastErrorException, Library, Native, NativeLong, Pointer}

/** What hearth calls of the C library, by JNA. Each throws the kernel's error number (errno(3)). */
private[core] trait LibC extends Library {

  /** set_mempolicy(2), which has no wrapper in glibc. */
  @throws(classOf[LastErrorException])
  def syscall(number: NativeLong, mode: NativeLong, mask: Array[Byte], bits: NativeLong): NativeLong

  /** migrate_pages(2), which has none either. */
  @throws(classOf[LastErrorException])
  def syscall(
      number: NativeLong,
      pid: NativeLong,
      bits: NativeLong,
      from: Array[Byte],
      to: Array[Byte]
  ): NativeLong

  @throws(classOf[LastErrorException])
  def open(path: String, flags: Int, mode: Int): Int
  @throws(classOf[LastErrorException])
  def fcntl(fd: Int, command: Int, lock: Pointer): Int
  @throws(classOf[LastErrorException])
  def flock(fd: Int, operation: Int): Int
  @throws(classOf[LastErrorException])
  def write(fd: Int, bytes: Array[Byte], count: Long): Long
  @throws(classOf[LastErrorException])
  def fchmod(fd: Int, mode: Int): Int
  def close(fd: Int): Int
  @throws(classOf[LastErrorException])
  def getxattr(path: String, name: String, value: Pointer, size: Long): Long
}

private[core] object LibC {

  /** @throws LinkageError where JNA's native code cannot be loaded */
  lazy val instance: LibC = Native.load("c", classOf[LibC])
}
