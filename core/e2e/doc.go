// Package e2e tests clawhost with the real claude CLI, against a Messages API on loopback. Its tests have the build tag
// e2e and are run by "make e2e", which installs the CLI and names it in CLAWHOST_CLAUDE.
//
// Users of other hosts have reported these faults of the CLI. The tests on the left, in this package, cause them with the real
// CLI. Those on the right cause them with the stub, which can cause more:
//
//	two processes on one session        | TestTwoWriters, TestNothingWritesIntoASession | TestNeverTwoProcessesOfASession, TestPeerIsCutOff
//	work that goes on after the result  | TestSubagentThatGoesOn, TestSubagentEndsWithItsTurn, TestSessionReachesNoOther | TestNothingGoesOnAfterTheResult
//	results and events of another turn  | TestSubagentThatGoesOn | TestOddEvents, TestForeignEvents
//	what MCP servers leave behind       | TestServersEndWithTheirProcess | TestServersEndWithTheirProcess, TestReap
//	memory that runs out                | TestMemoryOfProcesses | TestMemoryIsFreed, TestToolsAreWeighed, TestIdleProcessDies
//	limits without times                | TestLimitWithoutAnEnd | TestLimitWithoutAnEnd, TestOddEvents
//	a stop while a question is open     | TestStopWithAQuestionOpen | TestAskEndsWithTheTurn
//	a question that takes long          | TestSilenceLimitExcludesQuestions | TestAskTakesItsTime
//	a result that never comes           | TestNoResult | TestTimeouts
//	an exit without a result            | TestKilledWhileTheModelAnswers | TestExitWithoutAResult, TestKillAnywhere
//	a turn that does nothing            | TestHookRefusesTheMessage | TestTurnThatDoesNothing
//	a result without text               | TestCompaction | TestForeignEvents
//	a second result, a second init      | | TestOddEvents
//	a session that is left              | TestChatTextIsInert | TestProcessThatLeavesItsSession, TestOtherCommandsAreNotPassedToTheCLI
//	unknown requests and events         | TestCLIOffersNoUnknownTool | TestOddEvents, TestForeignEvents
//	lines of megabytes                  | TestLongAnswer | TestFaults, TestForeignEvents, TestLineOverTheLimit
//	a conversation that the API rejects | TestRejectedConversation, TestDamagedRecord | TestRecordedTranscripts
//	pictures that the API does not take | TestPicturesThatTheModelIsNotShown | TestPicturesThatTheModelIsNotShown, TestOneOfSeveralPicturesIsRefused
package e2e
