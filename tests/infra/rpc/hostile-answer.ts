import { Code } from "@connectrpc/connect";
import { errorIn, type RawAnswer } from "./raw.js";

/** How the server answered, as one of Connect's codes, whichever protocol it was; "ok", or "reset" if it did not. */
export function codeIn(answer: RawAnswer): string {
  const { status, headers, trailers, body, resetCode } = answer;
  if (status === 0) return resetCode === 0 ? "closed" : "reset";
  const grpcStatus =
    trailers["grpc-status"] ?? headers["grpc-status"] ?? /grpc-status: (\d+)/.exec(body.toString())?.[1];
  if (grpcStatus !== undefined) return codeName(Number(grpcStatus));
  if (status !== 200 || headers["content-type"] !== "application/json") {
    const { code } = body.includes("{") ? errorIn(answer) : {};
    if (code !== undefined) return code;
  }
  return status === 200 ? "ok" : `HTTP ${status}`;
}

function codeName(code: number): string {
  return code === 0 ? "ok" : Code[code]!.replaceAll(/(?<!^)[A-Z]/g, "_$&").toLowerCase();
}
