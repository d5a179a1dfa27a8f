import { pino, type Logger } from "pino";
import pretty from "pino-pretty";

/** JSON lines on standard error for machines, readable lines for people. */
export function createLogger(level: string): Logger {
  const isTerminal = process.stderr.isTTY;
  return isTerminal ? pino({ level }, pretty({ destination: 2, sync: true })) : pino({ level }, pino.destination(2));
}
