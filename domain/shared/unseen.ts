/** What nobody sees, and what makes others look like something else. */
export const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Zl}\p{Zp}\u2800\u{1D159}]/gu;
