package bridge

import (
	"encoding/binary"
	"net/netip"
	"os"
	"syscall"
)

// The constants of the sock_diag(7) protocol.
const (
	sockDiagByFamily = 20
	diagHeader       = 16 // bytes of a netlink header
	diagRequest      = 56 // bytes of struct inet_diag_req_v2
	diagState        = 1  // offset in struct inet_diag_msg
	diagUID          = 64 // offset in struct inet_diag_msg
	established      = 1  // value of diagState
)

// noUser is the user id that ownerOf returns for a connection that is not
// established, for example because its far end has closed it.
const noUser = ^uint32(0)

// otherUsers reports whether the far end of a TCP connection of this machine
// belongs to another user. It returns false if the owner is unknown. Root is
// allowed: it can read our files, and it may be the relay of a virtual machine. A
// socket that its user has closed is rejected, although the kernel reports root
// as its owner.
func otherUsers(local, remote netip.AddrPort) bool {
	uid, ok := ownerOf(remote, local)
	return ok && uid != 0 && int(uid) != os.Geteuid()
}

// ownerOf returns the user id of the IPv4 socket at local that is connected to
// remote. It takes the same time for any number of sockets.
func ownerOf(local, remote netip.AddrPort) (uid uint32, ok bool) {
	if !local.Addr().Unmap().Is4() || !remote.Addr().Unmap().Is4() {
		return 0, false
	}
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_INET_DIAG)
	if err != nil {
		return 0, false
	}
	defer syscall.Close(fd)
	req := make([]byte, diagHeader+diagRequest)
	binary.NativeEndian.PutUint32(req, uint32(len(req)))
	binary.NativeEndian.PutUint16(req[4:], sockDiagByFamily)
	binary.NativeEndian.PutUint16(req[6:], syscall.NLM_F_REQUEST)
	body := req[diagHeader:]
	body[0], body[1] = syscall.AF_INET, syscall.IPPROTO_TCP
	binary.NativeEndian.PutUint32(body[4:], ^uint32(0)) // in any state
	id := body[8:]
	binary.BigEndian.PutUint16(id, local.Port())
	binary.BigEndian.PutUint16(id[2:], remote.Port())
	copy(id[4:], local.Addr().Unmap().AsSlice())
	copy(id[20:], remote.Addr().Unmap().AsSlice())
	binary.NativeEndian.PutUint64(id[40:], ^uint64(0)) // no cookie
	if err := syscall.Sendto(fd, req, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return 0, false
	}
	// The kernel answers before Sendto returns.
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, answer, syscall.MSG_DONTWAIT)
	if err != nil || n < diagHeader+diagUID+4 || binary.NativeEndian.Uint16(answer[4:]) != sockDiagByFamily {
		return 0, false
	}
	if answer[diagHeader+diagState] != established {
		return noUser, true
	}
	return binary.NativeEndian.Uint32(answer[diagHeader+diagUID:]), true
}
