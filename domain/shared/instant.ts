/** A moment, in milliseconds since 1970-01-01T00:00:00Z. It arrives in a command; the domain owns no clock. */
export type Instant = number;

/** A time as protobuf writes it. */
export interface Timestamp {
  readonly seconds: bigint;
  readonly nanos: number;
}

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

export function toTimestamp(at: Instant): Timestamp {
  const seconds = Math.floor(at / second);
  return { seconds: BigInt(seconds), nanos: (at - seconds * second) * 1_000_000 };
}

/** What lies between two milliseconds is cut off. */
export function toInstant({ seconds, nanos }: Timestamp): Instant {
  return Number(seconds) * second + Math.floor(nanos / 1_000_000);
}

/** The moment as RFC 3339 text, UTC, with milliseconds: texts compare as the moments do. */
export function toText(at: Instant): string {
  const days = Math.floor(at / day);
  const { year, month, dayOfMonth } = dateOf(days);
  const rest = at - days * day;
  const time = [rest / hour, (rest % hour) / minute, (rest % minute) / second].map((part) => digits(part, 2)).join(":");
  return `${digits(year, 4)}-${digits(month, 2)}-${digits(dayOfMonth, 2)}T${time}.${digits(rest % second, 3)}Z`;
}

/** The Gregorian date of a day counted from 1970-01-01. Years begin in March here, so that a leap day is their last. */
function dateOf(days: number): { year: number; month: number; dayOfMonth: number } {
  const sinceYearZero = days + 719_468;
  const era = Math.floor(sinceYearZero / 146_097);
  const dayOfEra = sinceYearZero - era * 146_097;
  const leapDays = Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    dayOfMonth: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1,
  };
}

function digits(number: number, count: number): string {
  return Math.floor(number).toString().padStart(count, "0");
}
