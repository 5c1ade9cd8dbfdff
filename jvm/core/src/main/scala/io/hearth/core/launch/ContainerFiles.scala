package io.hearth.core.launch

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.hearth.core.leases.LeaseRegistry

/**
 * What of this machine's files the container of a JVM sees: programs and libraries of the system, and what
 * the JVM's own command line and environment name.
 */
object ContainerFiles {

  private val Programs =
    Vector("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32").map("/" + _)

  /** Users, names, time, certificates, and what Java and Python have there; no keys, no passwords. */
  private val Settings = (
    "alternatives ca-certificates crypto-policies fonts gai.conf group host.conf krb5.conf krb5.conf.d " +
      "ld.so.cache ld.so.conf ld.so.conf.d locale.conf localtime mime.types nsswitch.conf passwd " +
      "pki/ca-trust pki/java pki/tls/cert.pem pki/tls/certs pki/tls/openssl.cnf protocols services " +
      "ssl/certs ssl/openssl.cnf timezone"
  ).split(' ').map("/etc/" + _).toVector

  /** Java's and Python's own, whatever their version. */
  private val Versioned = Vector("java", "python")

  /** Where users who are not in /etc/passwd are asked for (sssd, nscd, nslcd), and certificates of SUSE. */
  private val Services =
    Vector(
      "/var/lib/sss/mc",
      "/var/lib/sss/pipes",
      "/run/nscd",
      "/run/nslcd",
      "/var/lib/ca-certificates"
    )

  private val Lists = Vector("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
  private val Places = Vector("JAVA_HOME", "SPARK_HOME", "HADOOP_HOME", "HADOOP_CONF_DIR")

  /** Options with which a JVM writes a file. */
  private val Writes = Vector(
    "-Xlog",
    "-XX:ArchiveClassesAtExit=",
    "-XX:ErrorFile=",
    "-XX:HeapDumpPath=",
    "-XX:LogFile=",
    "-XX:StartFlightRecording",
    "-Djava.io.tmpdir="
  )

  /** @param environment that of the process that starts it; the JVM's own variables stand over it */
  def of(spec: LaunchSpec, environment: Map[String, String], paths: HostPaths): Wanted = {
    val read =
      system() ++ Option(Path.of(spec.java).getParent).flatMap(bin => Option(bin.getParent)) ++
        spec.classPath.flatMap(ofClassPath) ++ ofVariables(environment ++ spec.environment, paths)
    // A write lock needs a file that may be written to.
    val lease = spec.environment.get(LeaseRegistry.FileVariable).map(Path.of(_))
    val writable = (Vector(spec.ownDirectory) ++ lease.filter(Files.exists(_)))
      .map(Mount(_, writable = true))
    Wanted(read.map(Mount(_, writable = false)) ++ writable, Vector.empty) ++
      Wanted.all((spec.javaOptions ++ spec.privateOptions).map(ofOption(_, paths)))
  }

  private def system(): Vector[Path] = {
    val versioned = children(Path.of("/etc")).filter(path =>
      Versioned.exists(path.getFileName.toString.startsWith) && Files.isDirectory(path)
    )
    (Programs ++ Settings ++ Services).map(Path.of(_)) ++ versioned
  }

  /** A jar, a directory, or all jars of one; links in a directory may lead elsewhere. */
  private def ofClassPath(entry: String): Vector[Path] = {
    val path = Path.of(entry.stripSuffix("/*")).toAbsolutePath
    path +: (if (Files.isDirectory(path)) children(path).filter(Files.isSymbolicLink(_))
             else Vector.empty)
  }

  private def ofVariables(variables: Map[String, String], paths: HostPaths): Vector[Path] = {
    val lists = Lists.flatMap(variables.get).flatMap(_.split(':'))
    (lists ++ Places.flatMap(variables.get))
      .filter(_.startsWith("/"))
      .map(Path.of(_).normalize)
      .filter(path => Files.exists(path) && !paths.isShared(path))
  }

  /** A path in an option stands behind one of `= : , "`, and ends there too, or with the option. */
  private[launch] def ofOption(option: String, paths: HostPaths): Wanted = {
    val starts = (1 until option.length).filter(i => option(i) == '/' && Marks(option(i - 1)))
    Wanted.all(starts.map { start =>
      val ends = (start until option.length).filter(i => Marks(option(i))) :+ option.length
      val longestFirst = ends.reverse.map(end => Path.of(option.substring(start, end)).normalize)
      if (Writes.exists(option.startsWith)) paths.toBeMade(longestFirst.last)
      else
        longestFirst
          .find(path => Files.exists(path) && path.getNameCount > 0)
          .fold(Wanted.nothing)(path => Wanted(Vector(Mount(path, writable = false)), Vector.empty))
    })
  }

  private val Marks = Set('=', ':', ',', '"')

  private def children(directory: Path): Vector[Path] =
    Using.resource(Files.list(directory))(_.iterator.asScala.toVector)
}
