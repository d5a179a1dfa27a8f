/** One action: proposed, decided, carried out. */
export const actionStream = (actionId: string): string => `action-${actionId}`;
