export {};
//# sourceMappingURL=translator.js.map