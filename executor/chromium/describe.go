package chromium

import "fmt"

// describe describes the browser in a few words.
func (in *instance) describe() string {
	if in.proc == nil {
		detail := "attached to " + in.version.Product
		if in.replica != "" {
			detail = "launched " + in.version.Product + " on browserless at " + in.replica
		}
		if limits := in.unenforced(); limits != "" {
			detail += "; " + limits
		}
		return detail
	}
	how := "headed"
	if in.proc.Headless {
		how = "headless"
	}
	if in.pooled != nil {
		how += ", in a context of a shared browser"
	}
	return fmt.Sprintf("launched %s, %s, pid %d", in.version.Product, how, in.proc.PID)
}

// unenforced describes what bypasses the network policy in an attached browser. It returns "" for a
// browser that we launched, and for one of browserless whose arguments select our proxy.
func (in *instance) unenforced() string {
	if in.proc != nil || in.opts.Network == nil || in.remoteEgress != nil {
		return ""
	}
	const webRTC = "WebRTC bypasses the policy, unless the browser was started with --webrtc-ip-handling-policy=disable_non_proxied_udp"
	if in.filtered() {
		return webRTC
	}
	return "its network is not filtered: the policy applies only to requests that CDP reports; " + webRTC
}
