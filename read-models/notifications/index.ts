export { findNotification, listNotifications, notifications, type NotificationRow } from "./notifications.js";
