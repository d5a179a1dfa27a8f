import type { Random } from "../support/random.js";
import type { PostArgs, Stage } from "./approval-bound-stage.js";

const day = 86_400_000;
/** Longer than a case takes before it sets the time forward. */
const undoSeconds = 1_800;

/** Tries to have something else done than was approved, or to decide too late. Answers what went wrong, or null. */
export type Attempt = (stage: Stage, random: Random) => Promise<string | null>;

const other = (random: Random): PostArgs => ({ to: `mallory-${random.below(1_000)}`, text: "Something else." });

export const attempts: Readonly<Record<string, Attempt>> = {
  "the card of the revision before": async (stage, random) => {
    const { actionId, cardHash } = await stage.propose("a");
    const revised = await stage.edit(actionId, other(random));
    if (revised === null) return "an edit was refused";
    return (await stage.approve(revised, cardHash)) ? "approved by the card of another revision" : none(stage, revised);
  },

  "a revision that was superseded": async (stage, random) => {
    const { actionId, cardHash } = await stage.propose("a");
    const changed = other(random);
    const revised = await stage.edit(actionId, changed);
    if (revised === null) return "an edit was refused";
    if (await stage.approve(actionId, random.chance(50) ? cardHash : null)) return "a superseded revision was approved";
    if (!(await stage.approve(revised, stage.cardOf(revised)))) return "the revision that counts was refused";
    return exactly(stage, changed, actionId, revised);
  },

  "the card of another action": async (stage) => {
    const [one, two] = [await stage.propose("a"), await stage.propose("b")];
    return (await stage.approve(two.actionId, one.cardHash)) ? "approved by another action's card" : none(stage, "b");
  },

  "a bundle with one wrong card": async (stage) => {
    const [one, two] = [await stage.propose("a"), await stage.propose("b")];
    const bundle = [
      { actionId: one.actionId, seen: one.cardHash },
      { actionId: two.actionId, seen: one.cardHash },
    ];
    return (await stage.approveTogether(bundle)) ? "a bundle with a wrong card was approved" : none(stage, "a", "b");
  },

  "other arguments before the approval": async (stage, random) => {
    const { actionId, cardHash } = await stage.propose("a");
    await stage.swap(actionId, other(random));
    await stage.approve(actionId, random.chance(50) ? cardHash : null);
    return none(stage, actionId);
  },

  "other arguments after the approval": async (stage, random) => {
    await stage.restart({ undoSeconds });
    const { actionId, cardHash } = await stage.propose("a");
    await stage.approve(actionId, cardHash);
    await stage.swap(actionId, other(random));
    return none(stage, actionId);
  },

  "another card, after the approval": async (stage, random) => {
    const { actionId, cardHash, plan } = await stage.propose("a");
    const { cardHash: another } = await stage.propose("b");
    await stage.approve(actionId, cardHash);
    if (random.chance(50)) await stage.life.settled([actionId]);
    if (await stage.approve(actionId, another)) return "another card was taken for a repeat";
    return exactly(stage, plan.args, actionId);
  },

  "the same approval again": async (stage, random) => {
    const { actionId, cardHash, plan } = await stage.propose("a");
    for (let times = 2 + random.below(4); times > 0; times--) {
      await stage.approve(actionId, random.chance(50) ? cardHash : null);
      if (random.chance(40)) await stage.life.settled([actionId]);
      if (random.chance(30)) await stage.restart();
    }
    return (await exactly(stage, plan.args, actionId)) ?? approvedOnce(stage, actionId);
  },

  "two devices at once": async (stage) => {
    const { actionId, cardHash, plan } = await stage.propose("a");
    const both = ["phone", "tablet"].map((device) => stage.approve(actionId, cardHash, device));
    if (!(await Promise.all(both)).every(Boolean)) return "an approval was refused";
    return (await exactly(stage, plan.args, actionId)) ?? approvedOnce(stage, actionId);
  },

  "approved here and rejected there": async (stage, random) => {
    const { actionId, cardHash, plan } = await stage.propose("a");
    const approve = () => stage.approve(actionId, cardHash, "phone");
    const reject = () => stage.reject(actionId, "tablet");
    const [approved, rejected] = random.chance(50)
      ? await Promise.all([approve(), reject()])
      : (await Promise.all([reject(), approve()])).reverse();
    if (approved === rejected) return "both were accepted, or neither";
    return approved ? exactly(stage, plan.args, actionId) : none(stage, actionId);
  },

  "approved here and edited there": async (stage, random) => {
    const { actionId, cardHash, plan } = await stage.propose("a");
    const approve = () => stage.approve(actionId, cardHash, "phone");
    const edit = () => stage.edit(actionId, other(random)).then((revised) => revised !== null);
    const [approved, edited] = random.chance(50)
      ? await Promise.all([approve(), edit()])
      : (await Promise.all([edit(), approve()])).reverse();
    if (approved === edited) return "both were accepted, or neither";
    return approved ? exactly(stage, plan.args, actionId) : none(stage, actionId);
  },

  "an edit after the approval": async (stage, random) => {
    const { actionId, cardHash, plan } = await stage.propose("a");
    await stage.approve(actionId, cardHash);
    if ((await stage.edit(actionId, other(random))) !== null) return "an approved action was edited";
    return exactly(stage, plan.args, actionId);
  },

  "after it has expired": async (stage, random) => {
    const { actionId, cardHash } = await stage.propose("a");
    stage.time.skip(day + random.below(day));
    if (random.chance(50)) await stage.restart();
    const isAccepted = await stage.approve(actionId, random.chance(50) ? cardHash : null);
    return isAccepted ? "an expired action was approved" : none(stage, actionId);
  },

  "after it was rejected": async (stage) => {
    const { actionId, cardHash } = await stage.propose("a");
    await stage.reject(actionId);
    return (await stage.approve(actionId, cardHash)) ? "a rejected action was approved" : none(stage, actionId);
  },

  "after it was taken back": async (stage, random) => {
    await stage.restart({ undoSeconds });
    const { actionId, cardHash } = await stage.propose("a");
    await stage.approve(actionId, cardHash);
    if (!(await stage.cancel(actionId))) return "an approval could not be taken back in time";
    if (random.chance(50)) await stage.restart({ undoSeconds });
    return (await stage.approve(actionId, cardHash)) ? "what was taken back was approved" : none(stage, actionId);
  },

  "taken back while it begins": async (stage) => {
    const { actionId, cardHash, plan } = await stage.propose("a");
    await stage.approve(actionId, cardHash);
    const isTakenBack = await stage.cancel(actionId);
    return isTakenBack ? none(stage, actionId) : exactly(stage, plan.args, actionId);
  },

  "another version of the tool": async (stage) => {
    await stage.restart({ undoSeconds });
    const { actionId, cardHash } = await stage.propose("a");
    await stage.approve(actionId, cardHash);
    await stage.restart({ version: 2 });
    return none(stage, actionId);
  },

  "another version of the tool, approved after it came": async (stage) => {
    const { actionId, cardHash } = await stage.propose("a");
    await stage.restart({ version: 2 });
    await stage.approve(actionId, cardHash);
    return none(stage, actionId);
  },

  "another policy": async (stage) => {
    await stage.restart({ undoSeconds });
    const { actionId, cardHash } = await stage.propose("a");
    await stage.approve(actionId, cardHash);
    await stage.restart({ undoSeconds, policyVersion: "p2" });
    return none(stage, actionId);
  },

  "another policy, approved after it came": async (stage, random) => {
    const { actionId, cardHash, plan } = await stage.propose("a");
    await stage.restart({ policyVersion: "p2" });
    const isAccepted = await stage.approve(actionId, random.chance(50) ? cardHash : null);
    if (isAccepted) return "approved under another policy than it was shown under";
    if (random.chance(50)) return none(stage, actionId);
    const renewed = await stage.edit(actionId, plan.args);
    if (renewed === null) return "it could not be shown anew";
    if (await stage.approve(renewed, cardHash)) return "approved by the card of another policy";
    if (!(await stage.approve(renewed, stage.cardOf(renewed)))) return "what was shown anew was refused";
    return exactly(stage, plan.args, actionId, renewed);
  },

  "a tool that is gone": async (stage) => {
    await stage.restart({ undoSeconds });
    const { actionId, cardHash } = await stage.propose("a");
    await stage.approve(actionId, cardHash);
    await stage.restart({ hasNoTool: true });
    await stage.everythingDone(actionId);
    await stage.restart({});
    return none(stage, actionId);
  },
};

/** Nothing was done but this, once. */
async function exactly(stage: Stage, { to, text }: PostArgs, ...actionIds: string[]): Promise<string | null> {
  await stage.everythingDone(...actionIds);
  const { effects } = stage;
  const isRight = effects.length === 1 && effects[0]?.to === to && effects[0].text === text;
  return isRight ? null : `approved was ${to}, done was ${told(effects)}`;
}

async function none(stage: Stage, ...actionIds: string[]): Promise<string | null> {
  await stage.everythingDone(...actionIds);
  return stage.effects.length === 0 ? null : `nothing may be done, done was ${told(stage.effects)}`;
}

function approvedOnce(stage: Stage, actionId: string): string | null {
  const times = stage.timesApproved(actionId);
  return times === 1 ? null : `one approval is recorded ${times} times`;
}

function told(effects: readonly PostArgs[]): string {
  return JSON.stringify(effects.map(({ to }) => to));
}
