// SPDX-License-Identifier: Apache-2.0

package main

// bug is a mistake that somebody could make, and who must notice.
type bug struct {
	name   string
	row    string // of the list of attacks and faults
	file   string
	edits  []edit
	folder string // of the tests, as go test takes it
	tests  string // names or patterns with | between them; at least one of them must fail
}

// edit replaces text that is in the file exactly once.
type edit struct{ sound, broken string }

const (
	endpointTests   = "./internal/sessiond/endpoint"
	scrollbackTests = "./internal/sessiond/scrollback"
	workerTests     = "./internal/sessiond"
	wireTests       = "./internal/sessiond/wire"
	ptyTests        = "./internal/sessiond/pty"
	fleetTests      = "./internal/supervisor/fleet"
	fanoutTests     = "./internal/supervisor/fanout"
	accessTests     = "./internal/supervisor/access"
	verbsTests      = "./internal/supervisor/verbs"
	topologyTests   = "./internal/supervisor/topology"
	emulatorTests   = "./internal/sessiond/emulator"
	jsonTests       = "./internal/strictjson"
	flowTests       = "./internal/e2e/flow"
	chaosTests      = "./internal/e2e/chaos"
)

// classes are the classes of faults, with real processes, that must notice a bug as well: the tests of its own package may stand on
// the same mistake. At the size of the gate.
var classes = map[string]guard{
	"queue-bounded-by-slots":        {flowTests, "TestF17ViewersThatDoNotReadAreNobodyElsesTrouble"},
	"terminal-paused-by-a-viewer":   {flowTests, "TestF17ViewersThatDoNotReadAreNobodyElsesTrouble"},
	"silent-worker-killed":          {chaosTests, "TestF5WorkersStopped"},
	"lock-file-unlinked-on-release": {endpointTests, "TestReclaimWithOneStandingAtEachStep"},
}

var bugs = []bug{
	{"number-reused-after-failure", "T71", "internal/sessiond/scrollback/append.go", []edit{{
		"	l.next++ // spent from here on, whatever the write does\n	if err := l.write(l.seal(seq, text)); err != nil {\n		return err\n	}\n",
		"	if err := l.write(l.seal(seq, text)); err != nil {\n		return err\n	}\n	l.next++\n",
	}}, scrollbackTests, "TestFailedAppendBurnsItsNumber|TestFaultAtEveryCall"},
	{"append-goes-on-after-failure", "T71", "internal/sessiond/scrollback/append.go", []edit{{
		"			return l.fail(fmt.Errorf(\"append to scrollback: %w\", err))", "			return fmt.Errorf(\"append to scrollback: %w\", err)",
	}}, scrollbackTests, "TestFailedAppendBurnsItsNumber|TestFaultAtEveryCall"},
	{"number-not-authenticated", "T70", "internal/sessiond/scrollback/record.go", []edit{
		{"l.aead.Seal(header, l.nonce[:], text, header[lengthBytes:])", "l.aead.Seal(header, l.nonce[:], text, header[lengthBytes:lengthBytes+1])"},
		{"record[HeaderBytes:], record[lengthBytes:HeaderBytes])", "record[HeaderBytes:], record[lengthBytes:lengthBytes+1])"},
	}, scrollbackTests, "TestGoldenSegment"},
	{"end-of-log-not-checked", "T70", "internal/sessiond/scrollback/replay.go", []edit{{
		"	if want != l.next {", "	if want > l.next {",
	}}, scrollbackTests, "TestListOfSegmentsMustLeadToTheEnd"},
	{"bytes-behind-records-accepted", "T70", "internal/sessiond/scrollback/replay.go", []edit{{
		"	case len(rest) > 0:", "	case len(rest) > 1<<30:",
	}}, scrollbackTests, "TestGarbageBehindASegmentIsRefused"},

	{"lock-file-unlinked-on-release", "T25", "internal/sessiond/endpoint/reservation_unix.go", []edit{{
		"	err := r.file.Close()\n	r.file = nil\n", "	err := r.file.Close()\n	r.file = nil\n	unix.Unlinkat(int(r.folder.dir.Fd()), r.stem+lockSuffix, 0)\n",
	}}, endpointTests, "TestReservationExcludesUntilReleased|TestReclaimHasAtMostOneOwnerWhoStaysReachable|TestReclaimByProcessesThatAreKilled|TestRetireLeavesAReplacedLockFile|TestLockLives.*"},
	{"lock-inode-not-compared", "T27", "internal/sessiond/endpoint/reservation_unix.go", []edit{{
		"	return err == nil && id == identityOf(&st), err", "	return err == nil && id.Dev == uint64(st.Dev), err",
	}}, endpointTests, "TestLockOnAFileThatLostItsNameCountsForNothing"},
	{"lock-freed-by-hand", "T28", "internal/sessiond/endpoint/reservation_unix.go", []edit{{
		"	err := r.file.Close()\n	r.file = nil\n", "	flock(int(r.file.Fd()), unix.LOCK_UN)\n	err := r.file.Close()\n	r.file = nil\n",
	}}, endpointTests, "TestLockLivesExactlyAsLongAsTheWorker"},
	{"lock-follows-links", "T21", "internal/sessiond/endpoint/reservation_unix.go", []edit{
		{"		if err := checkOwn(&st, unix.S_IFREG); err != nil {\n			return nil, err\n		}\n	}\n	flags |= unix.O_NOFOLLOW | ", "		_ = st\n	}\n	flags |= "},
	}, endpointTests, "TestHostileLockFileIsRefusedAndLeftAlone"},
	{"lock-without-cloexec", "T34", "internal/sessiond/endpoint/reservation_unix.go", []edit{{
		"unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK", "unix.O_NOFOLLOW | unix.O_NONBLOCK",
	}}, fleetTests, "TestNoWorkerInheritsWhatIsNotItsOwn"},
	{"socket-unlinked-by-name", "T25", "internal/sessiond/endpoint/socket_linux.go", []edit{{
		"	listener.SetUnlinkOnClose(false)", "	listener.SetUnlinkOnClose(true)",
	}}, endpointTests, "TestDelayedCleanupLeavesASuccessorAlone|TestCleanupRemovesOnlyTheRecordedSocket"},
	{"full-backlog-is-nobody", "T25", "internal/sessiond/endpoint/socket_linux.go", []edit{{
		"		if !errors.Is(err, unix.EAGAIN) {\n			return nil, notListening(err)\n		}", "		if errors.Is(err, unix.EAGAIN) {\n			err = unix.ECONNREFUSED\n		}\n		if err != nil {\n			return nil, notListening(err)\n		}",
	}}, endpointTests, "TestDialTellsNobodyFromBusy"},
	{"socket-identity-not-compared", "T25", "internal/sessiond/endpoint/folder_unix.go", []edit{{
		"	if err != nil || !found || identityOf(&st) != want {", "	if err != nil || !found || st.Nlink == 0 {",
	}}, endpointTests, "TestDelayedCleanupLeavesASuccessorAlone|TestCleanupRemovesOnlyTheRecordedSocket"},
	{"credentials-not-looked-at", "T23", "internal/sessiond/endpoint/lifecycle_linux.go", []edit{{
		"	return err == nil && cred.Pid > 0 && int64(cred.Uid) == int64(os.Geteuid())", "	return err == nil && int64(os.Geteuid()) >= 0 && cred != nil",
	}}, endpointTests, "TestDatagramsOfAnotherUserAreIgnoredAndCounted|TestCredentialsMustBeWholeAndOurs"},
	{"stranger-greeted", "T23", "internal/sessiond/attach.go", []edit{{
		"		case endpoint.CheckPeer(raw) != nil:", "		case endpoint.CheckPeer(raw) == endpoint.ErrReserved:",
	}}, workerTests, "TestWorkerTellsAnotherUserNothing"},
	{"group-may-exchange-the-folder", "T20", "internal/sessiond/endpoint/folder_unix.go", []edit{{
		"	case mode&0o020 != 0 && !private(st.Gid, st.Uid):", "	case mode&0o020 != 0 && st.Gid > 1<<31:",
	}}, endpointTests, "TestFolderAboveIsWritableForItsOwnerAlone"},
	{"queue-moves-unwiped", "T36", "internal/sessiond/wire/frame.go", []edit{{
		"		clear(old)\n", "",
	}}, wireTests, "TestFramesLeaveNoCopyWhereTheyMove"},
	{"stale-instance-obeyed", "T30", "internal/sessiond/endpoint/request.go", []edit{{
		"	if InstanceID(p[:RequestLen-1]) != instance {", "	if instance == (InstanceID{}) {",
	}}, endpointTests, "TestDatagramsOfEarlierInstancesDoNothing|TestRecordedDatagramsDoNothingToLaterInstances"},
	{"folder-mode-trusted", "T20", "internal/sessiond/endpoint/folder_unix.go", []edit{{
		"	if st.Uid != uint32(os.Geteuid()) {\n		return fmt.Errorf(\"%w: owned by uid %d\", ErrUnsafe, st.Uid)\n	}\n", "",
	}}, endpointTests, "TestHostileFolderIsRefusedByNameAndLeftAlone|TestSweepStopsAtWhatIsNotOurs"},

	{"reaped-number-signalled", "T29", "internal/sessiond/pty/pty_unix.go", []edit{{
		"	if t.mu.reaped {\n		return ErrGone\n	}\n	if err := syscall.Kill(-t.pid", "	if err := syscall.Kill(-t.pid",
	}}, workerTests, "TestRecycledNumberIsNeverSignalled"},
	{"worker-killed-by-its-number", "T29", "internal/supervisor/fleet/peer_linux.go", []edit{{
		"unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)", "unix.Kill(peerPID(conn), unix.SIGKILL)",
	}}, fleetTests, "TestWhoHasTheNumberOfADeadWorkerIsNotKilled"},
	{"workers-dialled-one-by-one", "T33", "internal/supervisor/fleet/limits.go", []edit{{
		"	adoptionsMax = 64", "	adoptionsMax = 1",
	}}, fleetTests, "TestStoppedWorkersDelayNobody"},
	{"workers-dialled-under-the-lock", "T33", "internal/supervisor/fleet/adopt.go", []edit{{
		"	c, seen, err := f.approach(ctx, id)\n", "	f.mu.Lock()\n	c, seen, err := f.approach(ctx, id)\n	f.mu.Unlock()\n",
	}}, fleetTests, "TestStoppedWorkersDelayNobody"},
	{"inherited-lock-passed-on", "T34", "internal/sessiond/endpoint/reservation_unix.go", []edit{{
		"	unix.CloseOnExec(int(file.Fd()))\n	return &Reservation{", "	return &Reservation{",
	}}, endpointTests, "TestLockLivesExactlyAsLongAsTheWorker"},
	{"replay-asks", "T50", "internal/sessiond/emulator/repaint.go", []edit{{
		"	p.quietModes()\n", "	p.text(\"\\x1b[6n\")\n	p.quietModes()\n",
	}}, emulatorTests, "TestRepaint.*"},
	{"duplicate-member-accepted", "T74", "internal/strictjson/strictjson.go", []edit{
		{"		jsontext.AllowDuplicateNames(false),", "		jsontext.AllowDuplicateNames(true),"},
		{"	tokens := jsontext.NewDecoder(bytes.NewBuffer(src))", "	tokens := jsontext.NewDecoder(bytes.NewBuffer(src), jsontext.AllowDuplicateNames(true))"},
	}, jsonTests, "TestUnmarshalRefusesWhatTwoReadersCouldReadTwice"},
	{"bytes-behind-the-value-accepted", "T74", "internal/strictjson/strictjson.go", []edit{{
		"	if err := json.Unmarshal(src, fresh.Interface(), decodeOptions); err != nil {",
		"	if err := json.UnmarshalDecode(jsontext.NewDecoder(bytes.NewBuffer(src)), fresh.Interface(), decodeOptions); err != nil {",
	}}, jsonTests, "TestUnmarshalRefusesWhatTwoReadersCouldReadTwice"},
	{"silent-worker-killed", "F5", "internal/supervisor/fleet/decide.go", []edit{{
		"[]helloFact{helloNone}, leave, CodeSilent}", "[]helloFact{helloNone}, dismiss, CodeSilent}",
	}}, fleetTests, "TestStoppedWorkersDelayNobody|TestRefusedWorkersAreLeftAlone"},
	{"starting-terminal-destroyed", "F2", "internal/supervisor/fleet/terminate.go", []edit{{
		"	if err == nil && ack == endpoint.AckDelivered {", "	if err == nil && ack == 0 {",
	}}, fleetTests, "TestATerminalIsTerminatedWhileItStarts"},
	{"files-of-the-dying-left", "F3", "internal/supervisor/fleet/handle.go", []edit{{
		"			alive, err := h.Alive()\n			if err == nil && !alive {\n				err = h.fleet.folder.Sweep(h.id)\n			}\n", "			err := h.fleet.folder.Sweep(h.id)\n",
	}}, fleetTests, "TestWhatADyingWorkerLeavesIsRemoved"},
	{"reply-folders-left", "F2", "internal/sessiond/endpoint/sweep_unix.go", []edit{{
		"	for _, id := range sessionsWith(names, replySuffix) {", "	for _, id := range sessionsWith(nil, replySuffix) {",
	}}, endpointTests, "TestReplyFoldersOfEndedSessionsAreSwept"},

	{"queue-bounded-by-slots", "F17", "internal/supervisor/fanout/queue.go", []edit{{
		"	return q.bytes+n <= queueBytesMin || q.bytes+n <= q.bound()", "	return len(q.items)-q.head < 4096 || q.bytes+n <= q.bound()",
	}}, fanoutTests, "TestQueueIsBoundedByBytesAndByEntries|TestStuckViewersCostBoundedMemory"},
	{"terminal-paused-by-a-viewer", "F17", "internal/supervisor/fanout/reader.go", []edit{{
		"			outcome := v.queue.put(it)\n", "			outcome := v.queue.put(it)\n			for outcome == full && v.phase == live {\n				outcome = v.queue.put(it)\n			}\n",
	}}, fanoutTests, "TestStalledViewerAloneIsDroppedAndComesBackExact"},
	{"snapshot-not-at-its-place", "F1", "internal/supervisor/fanout/reader.go", []edit{{
		"	if s.positioned && watermark != s.position {", "	if s.positioned && watermark > s.position+1<<40 {",
	}}, fanoutTests, "TestBrokenWorkerEndsItsHubAlone"},
	{"viewer-sizes-the-pane", "T11", "internal/supervisor/fanout/steer.go", []edit{{
		"	if err := h.steerLocked(control.Act{Op: control.OpSize, Viewer: v.id}); err != nil {\n		return err\n	}\n", "	_ = h.steerLocked(control.Act{Op: control.OpSize, Viewer: v.id})\n",
	}}, fanoutTests, "TestEveryVerbIsRefusedToWhomItIsNotGiven"},
	{"old-controllers-keys-typed", "T12", "internal/supervisor/fanout/steer.go", []edit{{
		"	if !h.mu.control.Holds(v.id, g) {", "	if g == 0 {",
	}}, fanoutTests, "TestInputOfAnEarlierControllerIsDropped"},
	{"lock-held-while-reading", "T33", "internal/supervisor/verbs/conn.go", []edit{{
		"	return ReadLine(c.r, LineBytesMax)", "	c.s.mu.Lock()\n	defer c.s.mu.Unlock()\n	return ReadLine(c.r, LineBytesMax)",
	}}, verbsTests, "TestDawdlingPeersHoldUpNobody"},
	{"new-file-takes-a-place", "T21", "internal/supervisor/ownfile/ownfile.go", []edit{{
		"os.O_WRONLY|os.O_CREATE|os.O_EXCL", "os.O_WRONLY|os.O_CREATE|os.O_TRUNC",
	}}, topologyTests, "TestANewFileTakesNobodysPlace"},
	{"new-file-of-one-name", "T21", "internal/supervisor/ownfile/ownfile.go", []edit{{
		"Prefix(path)+rand.Text()", "Prefix(path)+rand.Text()[:0]",
	}}, topologyTests, "TestANewFileTakesNobodysPlace"},
	{"rename-not-synced", "F10", "internal/supervisor/ownfile/ownfile.go", []edit{{
		"	if err := d.SyncDir(filepath.Dir(path)); err != nil {", "	if err := error(nil); err != nil {",
	}}, topologyTests, "TestAFailedSaveLeavesOneWholeTree"},

	{"visitor-not-checked", "T06", "internal/supervisor/access/links.go", []edit{{
		"	if !signed || g.ID == \"\" || ", "	if !signed && false || g.ID == \"\" || ",
	}}, accessTests, "TestNothingThatIsKeptOpensALink"},
	{"visit-serves-twice", "T06", "internal/supervisor/access/links.go", []edit{{
		"	c.offered = true\n", "",
	}}, accessTests, "TestAVisitServesOnceOnItsOwnConnection"},
	{"visitor-sizes-the-terminal", "T11", "internal/supervisor/fanout/viewer.go", []edit{{
		"	if o.Guest {\n		wanted = size{}\n	}\n", "",
	}}, fanoutTests, "TestAGuestNeverSizesTheTerminal"},
}
