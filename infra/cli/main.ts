import { Command, CommanderError } from "commander";
import { ConfigError, readConfig } from "../config/config.js";
import { listAt, listsAt, type ListOptions } from "./at.js";
import type { CliContext } from "./context.js";
import {
  approvalsApprove,
  approvalsCancel,
  approvalsList,
  approvalsReject,
  approvalsResolve,
  approvalsShow,
  type Resolution,
} from "./approvals.js";
import { auditList, explainAction, type AuditOptions } from "./audit.js";
import { devicesList, devicesRevoke } from "./devices.js";
import { exitCodes, UsageError } from "./exit.js";
import { logExport, logShow, logStats, logTail, logVerify, type TailOptions, type VerifyOptions } from "./log.js";
import { createOutput } from "./output.js";
import { pair } from "./pair.js";
import { projectionsList, projectionsRebuild, projectionsVerify } from "./projections.js";
import { rpc } from "./rpc.js";

const stopping = new AbortController();
let exitCode: number = exitCodes.fine;
let isServing = false;

function createProgram(): Command {
  const program = new Command("pincer")
    .description("The backend of a personal AI assistant that may act, but never behind its owner's back.")
    .option("--data <dir>", "the directory with the log and the read models", readConfig(process.env).dataDirectory)
    .option("--json", "print JSON, one value a line")
    .exitOverride();

  /** Runs a command with what all of them need; its answer is the exit code. */
  const run =
    <Arguments extends unknown[]>(command: (context: CliContext, ...rest: Arguments) => Promise<number>) =>
    async (...rest: Arguments): Promise<void> => {
      const { data, json = false } = program.opts<{ data: string; json?: boolean }>();
      const output = createOutput(json, (text) => process.stdout.write(text));
      exitCode = await command({ dataDirectory: data, output, signal: stopping.signal }, ...rest);
    };

  program
    .command("serve")
    .description("run the server")
    .action(
      run(async (context) => {
        isServing = true;
        const { runServer } = await import("./serve.js"); // What only a server needs takes a while to load.
        return runServer(context);
      }),
    );

  program
    .command("pair")
    .description("make a code with which a device can be paired")
    .action(run((context) => pair(context)));
  const devices = program.command("devices").description("who may speak to the server");
  devices
    .command("list")
    .description("every device, the latest first")
    .action(run((context) => devicesList(context)));
  devices
    .command("revoke")
    .argument("<id>")
    .description("let a device in no more, and end its streams")
    .action(run((context, id: string) => devicesRevoke(context, id)));
  const approvals = program.command("approvals").description("what the assistant wants to do");
  approvals
    .command("list")
    .option("--status <status>", "pending, approved, rejected or executed", "pending")
    .description("actions: the riskiest first if they are pending, else the latest first")
    .action(run((context, options: { status: string }) => approvalsList(context, options.status)));
  approvals
    .command("show")
    .argument("<id>")
    .description("all that is to be known before deciding")
    .action(run((context, id: string) => approvalsShow(context, id)));
  approvals
    .command("approve")
    .argument("<id>")
    .description("let it be done, exactly as it is shown")
    .action(run((context, id: string) => approvalsApprove(context, id)));
  approvals
    .command("reject")
    .argument("<id>")
    .option("--reason <text>", "what the assistant is told", "")
    .description("do not let it be done")
    .action(run((context, id: string, options: { reason: string }) => approvalsReject(context, id, options.reason)));
  approvals
    .command("cancel")
    .argument("<id>")
    .description("take an approval back, as long as nothing was begun")
    .action(run((context, id: string) => approvalsCancel(context, id)));
  approvals
    .command("resolve")
    .argument("<id>")
    .option("--done", "it happened")
    .option("--not-done", "it did not happen")
    .description("say what became of an action whose outcome is unknown")
    .action(run((context, id: string, options: Resolution) => approvalsResolve(context, id, options)));
  program
    .command("audit")
    .description("what was decided and done")
    .command("list")
    .option("--type <type>", "only events of this type")
    .option("--thread <id>", "only those of one thread")
    .option("--job <id>", "only those of one job")
    .option("--action <id>", "only those about one action")
    .option("--from <time>", "only those since then, such as 2026-01-31T09:30:00Z")
    .option("--until <time>", "only those before then")
    .description("entries, the latest first")
    .action(run((context, options: AuditOptions) => auditList(context, options)));
  program
    .command("explain")
    .argument("<id>", "of an action")
    .description("why an action happened, or did not")
    .action(run((context, id: string) => explainAction(context, id)));
  program
    .command("rpc")
    .argument("<service/method>", "such as ThreadsService/ListThreads")
    .argument("[json]", "the request; - reads it from standard input", "{}")
    .description("call the server that is running, as its operator")
    .action(run((context, method: string, request: string) => rpc(context, method, request)));

  const log = program.command("log").description("read and check the event log");
  log
    .command("tail")
    .description("print events in order")
    .option("--thread <id>", "only those of one thread")
    .option("--from <n>", "only those after this position (with --thread: after this sequence)")
    .option("--follow", "go on with those that come")
    .action(run((context, options: TailOptions) => logTail(context, options)));
  log.command("show").argument("<position>").description("print one event").action(run(logShow));
  log
    .command("verify")
    .description("prove that nothing was altered")
    .option("--head <position:hash>", "a head that was kept elsewhere: the log must still contain it")
    .option("--file <file>", "verify an export, without the database")
    .action(run((context, options: VerifyOptions) => logVerify(context, options)));
  log
    .command("export")
    .description("write everything that is needed to verify the log elsewhere, as JSON lines")
    .requiredOption("--out <file>", "the file to write; it must not exist")
    .action(run((context, options: { out: string }) => logExport(context, options.out)));
  log
    .command("stats")
    .description("count what is in the log")
    .action(run((context) => logStats(context)));

  const projections = program.command("projections").description("look after the read models");
  projections
    .command("list")
    .description("what there is, and how far it has come")
    .action(run((context) => projectionsList(context)));
  projections
    .command("rebuild")
    .argument("[names...]")
    .description("make tables anew from the log, while the old ones serve")
    .action(run(projectionsRebuild));
  projections
    .command("verify")
    .argument("[names...]")
    .description("compare tables with a rebuild")
    .action(run(projectionsVerify));

  program
    .command("at")
    .argument("<position|time>", "a position, or a time such as 2026-01-31T09:30:00Z")
    .argument("<list>", `which list: ${Object.keys(listsAt).join(", ")}`)
    .option("--thread <id>", "of which thread")
    .description("read the past")
    .action(run((context, when: string, list: string, options: ListOptions) => listAt(context, when, list, options)));

  return program;
}

function toExitCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.fine : exitCodes.usage;
  const isUsage = error instanceof UsageError || error instanceof ConfigError;
  process.stderr.write(`pincer: ${error instanceof Error ? error.message : String(error)}\n`);
  return isUsage ? exitCodes.usage : exitCodes.failed;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    stopping.abort();
  });
}
// Whoever reads along may have seen enough, as `head` does. A server goes on: all it has to print is its greeting.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  if (!isServing) process.exit(exitCodes.fine);
});

try {
  await createProgram().parseAsync();
  process.exitCode = exitCode;
} catch (error) {
  process.exitCode = toExitCode(error);
}
