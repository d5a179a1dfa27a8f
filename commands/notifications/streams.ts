export const notificationStream = (notificationId: string): string => `notification-${notificationId}`;
