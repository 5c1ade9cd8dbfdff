package io.hearth.driver

import java.net.{BindException, InetSocketAddress, ServerSocket}

import scala.util.Using

/** Whether this machine answers at the addresses of a plan's hosts: its loopback may be IPv6 only. */
object HostAddresses {

  /** @return the first that it does not have, and why */
  def missing(hosts: Vector[String]): Option[String] =
    hosts.distinct.iterator.flatMap(host => problem(host).map(why => s"$host: $why")).nextOption()

  /** Any other failure, as to get a socket at all, says nothing about the address. */
  private def problem(host: String): Option[String] =
    Using(new ServerSocket())(_.bind(new InetSocketAddress(host, 0))).failed.toOption
      .collect { case e: BindException => e.getMessage }
}
