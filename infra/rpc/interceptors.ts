import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import type { Logger } from "pino";
import { refuse } from "../../domain/shared/index.js";
import { AuthService } from "../../proto/gen/pincer/protocol/v1/auth_pb.js";
import type { Session, Sessions } from "../auth/sessions.js";
import { LogError } from "../event-log/index.js";
import { callerKey, peerKey, type Caller, type Peer } from "./caller.js";
import { refusalOf, toConnectError } from "./refusal.js";

/** Trouble with the log in which nothing was recorded, and the same call may work later. */
const passing: ReadonlySet<LogError["trouble"]> = new Set(["busy", "full", "overloaded"]);

/** How calls end, for whoever counts them. */
export interface CallObserver {
  /** How long it took is null for a stream, which takes as long as its client likes. */
  called(method: string, code: string, refusal: string | null, millis: number | null): void;
}

/** Lets nobody through of whom we do not know who they are, but those who come to be paired. */
export function authenticating(sessions: Sessions, onUse: (session: Session) => void): Interceptor {
  const recognise = async (peer: Peer | null, header: Headers): Promise<Caller> => {
    if (peer?.isOperator === true) return { kind: "operator" };
    const session = await sessions.authenticate(header.get("authorization"));
    if (session === null) throw toConnectError(refuse("unauthenticated"));
    onUse(session);
    return { kind: "device", session };
  };
  return (next) => async (request) => {
    if (request.method !== AuthService.method.bindPairingCode) {
      const { contextValues, header } = request;
      contextValues.set(callerKey, await recognise(contextValues.get(peerKey), header));
    }
    return next(request);
  };
}

/** Counts how calls end. What is no answer of ours is reported, and stays here: its cause is nobody else's business. */
export function reporting(observer: CallObserver, logger: Logger): Interceptor {
  return (next) => async (request) => {
    const method = `${request.service.typeName.split(".").at(-1) ?? ""}/${request.method.name}`;
    const since = performance.now();
    const finish = (error?: unknown): ConnectError | null => {
      const millis = request.stream ? null : performance.now() - since;
      if (error === undefined) {
        observer.called(method, "ok", null, millis);
        return null;
      }
      const answer = toAnswer(error, (cause) => {
        logger.error({ method, err: cause }, "a call failed");
      });
      observer.called(method, nameOf(answer.code), refusalOf(answer), millis);
      return answer;
    };
    try {
      const response = await next(request);
      if (response.stream) return { ...response, message: reported(response.message, finish) };
      finish();
      return response;
    } catch (error) {
      // What a stream asks for is read in here; other requests are read before.
      const isCutOff = request.stream && request.signal.aborted && isHangUp(error);
      throw finish(isCutOff ? gone() : error) ?? error;
    }
  };
}

function isHangUp(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["ERR_STREAM_PREMATURE_CLOSE", "ERR_HTTP2_STREAM_ERROR", "ECONNRESET"].includes(code);
}

function gone(): ConnectError {
  return new ConnectError("the client has gone", Code.Canceled);
}

async function* reported<T>(messages: AsyncIterable<T>, finish: (error?: unknown) => unknown): AsyncGenerator<T> {
  let isOver = false;
  try {
    yield* messages;
    isOver = true;
    finish();
  } catch (error) {
    isOver = true;
    throw finish(error) ?? error;
  } finally {
    if (!isOver) finish(gone());
  }
}

function toAnswer(error: unknown, report: (cause: unknown) => void): ConnectError {
  if (error instanceof ConnectError) return error;
  report(error);
  if (error instanceof LogError && passing.has(error.trouble)) {
    return new ConnectError("nothing can be recorded right now; try again", Code.Unavailable);
  }
  return new ConnectError("internal error", Code.Internal);
}

/** As the wire spells it. */
function nameOf(code: Code): string {
  return Code[code].replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}
