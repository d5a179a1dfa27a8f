import { accept, nothing, refuse, type Decision, type Fact } from "../shared/index.js";

export type Thread =
  | { readonly status: "none" }
  | { readonly status: "open"; readonly isTitled: boolean }
  | { readonly status: "deleted" };

export const initialThread: Thread = { status: "none" };

export function evolveThread(thread: Thread, fact: Fact): Thread {
  switch (fact.case) {
    case "threadCreated":
      return { status: "open", isTitled: false };
    case "threadTitled":
      return thread.status === "open" ? { ...thread, isTitled: true } : thread;
    case "threadDeleted":
      return { status: "deleted" };
    default:
      return thread;
  }
}

export function createThread(thread: Thread, channel: string): Decision {
  switch (thread.status) {
    case "none":
      return accept({ case: "threadCreated", value: { channel } });
    case "open":
      return nothing; // A repeat is not news.
    case "deleted":
      return refuse("thread_deleted");
  }
}

/** A title that a thread has once is its title. */
export function titleThread(thread: Thread, title: string): Decision {
  const isUntitled = thread.status === "open" && !thread.isTitled;
  return isUntitled && title !== "" ? accept({ case: "threadTitled", value: { title } }) : nothing;
}

export function deleteThread(thread: Thread): Decision {
  switch (thread.status) {
    case "none":
      return refuse("thread_not_found");
    case "open":
      return accept({ case: "threadDeleted", value: {} });
    case "deleted":
      return nothing;
  }
}
