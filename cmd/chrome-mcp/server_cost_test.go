package main

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkCall measures a call of the command line on a running server, without the time of the
// tool itself, and for comparison the time from the start of a server on stdio to the response to
// initialize.
func BenchmarkCall(b *testing.B) {
	data, err := os.MkdirTemp("", "bench") // the path of a socket is limited
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(data)
	c := &commandLine{b, data}
	if out, err := c.run("call", "tabs_list", "--prefer", "cdp"); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	defer c.run("serve", "stop")
	var call, start time.Duration
	for b.Loop() { // alternately, so that both see the same load
		begin := time.Now()
		if out, err := exec.Command(binary, "call", "tabs_list", "--prefer", "cdp", "--data", data).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		call += time.Since(begin)
		begin = time.Now()
		cmd, stdin := initialized(b, binary, "--data", data)
		start += time.Since(begin)
		stdin.Close()
		cmd.Wait()
	}
	b.ReportMetric(float64(call.Microseconds())/1000/float64(b.N), "call-ms")
	b.ReportMetric(float64(start.Microseconds())/1000/float64(b.N), "initialize-ms")
	b.ReportMetric(float64(call)/float64(start), "x_initialize")
	b.ReportMetric(0, "ns/op")
}
